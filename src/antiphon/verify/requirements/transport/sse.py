"""transport: sse."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
