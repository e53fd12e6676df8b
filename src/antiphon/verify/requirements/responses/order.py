"""responses: order."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
