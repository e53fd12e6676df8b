"""The part of the contract that keeps facts about responses, and lists them."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import Facts, FactsPage, FactsQuery


class ResponseFacts(Protocol):
    """Facts about responses. `save`, `enqueue` and `finish` keep those of their response in the same step.

    Facts that are kept again under the same id replace those before, but for when the response began: the time from
    then until the later facts began is added to `queued` and `first`. Once a background response is claimed, its status
    is `in_progress`. `delete` of a response removes its words, tags and spans; its numbers stay until they expire, and
    no list has them.
    """

    async def put_facts(self, facts: Sequence[Facts]) -> None:
        """Keep facts of responses that are not saved themselves, all of them in one step."""
        ...

    async def list_facts(self, tenant: str, query: FactsQuery) -> FactsPage:
        """Return a part of a tenant's facts, in the order in which the responses began."""
        ...

    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        """Return the spans of a response as they were kept; None where there are none."""
        ...
