"""chat: formats."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
