"""responses: websocket."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
