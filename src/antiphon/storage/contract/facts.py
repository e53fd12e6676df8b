"""The part of the contract that keeps facts about responses, and lists them."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import Facts, FactsFamily, FactsPage, FactsQuery, FiguresFound, FiguresQuery


class ResponseFacts(Protocol):
    """Facts about responses. `save`, `enqueue` and `finish` keep those of their response in the same step.

    Facts that are stored again under the same id replace the earlier facts, except the time when the response began:
    the time from then until the later facts began is added to `queued` and `first`. Once a background response is
    claimed, its status is `in_progress`. `delete` of a response removes its words, tags, spans and bodies; its numbers
    stay until they expire, and no list has them.
    """

    async def put_facts(self, facts: Sequence[Facts]) -> None:
        """Keep facts of responses that are not saved themselves, all of them in one step."""
        ...

    async def list_facts(self, tenant: str | None, query: FactsQuery) -> FactsPage:
        """Return a part of a tenant's facts, in the order in which the responses began; of all tenants for None."""
        ...

    async def bodies(self, tenant: str, response_id: str) -> bytes | None:
        """Return what backends received for a response, as it was kept; None where it was not."""
        ...

    async def find_facts(self, tenant: str | None, response_id: str) -> FactsFamily | None:
        """Return the facts of a response of this tenant, or of any, with its spans and chain; None if unknown."""
        ...

    async def changed_facts(self, behind: int | None) -> tuple[int, Sequence[Facts]]:
        """Return the facts of all tenants that were kept or changed behind a place, oldest first, and the new place.

        Without a place, return only the newest one. Facts that another server writes may appear before the place that
        was returned last: look again a little earlier, and omit what is known.
        """
        ...

    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        """Return figures of a tenant, or of all, of responses that have ended; deleted ones count too."""
        ...

    async def sum_up(self) -> bool:
        """Add some responses to the sums from which figures are read; return whether there are more.

        Any server may call it at any time; each response is summed once.
        """
        ...

    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        """Return the spans of a response as they were stored, or None."""
        ...
