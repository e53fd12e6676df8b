"""responses: stream."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
