"""responses: store."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
