"""responses: logprobs."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
