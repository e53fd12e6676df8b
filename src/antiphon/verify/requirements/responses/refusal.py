"""responses: refusal."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
