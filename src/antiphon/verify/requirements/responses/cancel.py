"""responses: cancel."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
