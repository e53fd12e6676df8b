"""responses: conversations."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
