"""responses: objects."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
