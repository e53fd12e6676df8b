"""responses: compact."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
