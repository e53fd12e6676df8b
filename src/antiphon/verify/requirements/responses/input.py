"""responses: input."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
