"""responses: reasoning."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
