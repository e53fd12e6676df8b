"""chat: errors."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
