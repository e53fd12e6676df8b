"""responses: input items."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
