"""chat: images."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
