"""responses: paths."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
