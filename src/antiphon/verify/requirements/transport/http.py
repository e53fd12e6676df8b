"""transport: http."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
