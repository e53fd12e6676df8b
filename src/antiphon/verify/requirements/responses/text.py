"""responses: text."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
