"""responses: input tokens."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
