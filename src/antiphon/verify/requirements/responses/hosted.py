"""responses: hosted."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
