"""responses: echo."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
