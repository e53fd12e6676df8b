"""chat: parameters."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
