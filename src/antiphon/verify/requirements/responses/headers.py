"""responses: headers."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
