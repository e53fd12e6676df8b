"""chat: tools."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
