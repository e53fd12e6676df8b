"""responses: resume."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
