"""responses: calls."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
