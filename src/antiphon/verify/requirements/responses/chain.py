"""responses: chain."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
