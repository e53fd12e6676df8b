"""responses: usage."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
