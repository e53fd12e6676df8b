"""responses: limits."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
