"""responses: same."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
