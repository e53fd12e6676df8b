"""responses: background."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
