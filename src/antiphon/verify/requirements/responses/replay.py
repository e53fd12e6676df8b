"""responses: replay."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
