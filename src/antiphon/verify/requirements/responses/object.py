"""responses: object."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
