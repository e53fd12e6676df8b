"""chat: answer."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
