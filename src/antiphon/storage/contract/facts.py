"""The store contract for facts about responses: one row per response, for lists and figures."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import Facts, FactsFamily, FactsPage, FactsQuery, FiguresFound, FiguresQuery


class ResponseFacts(Protocol):
    """Facts about responses. `save`, `enqueue` and `finish` store the facts of their response in the same transaction.

    Storing facts again under the same id replaces the earlier facts, except the time when the response began: the time
    between the two beginnings is added to `queued` and `first`. When a background response is claimed, its status
    becomes `in_progress`. `delete` of a response removes its words, tags, spans and bodies. Its numbers are kept until
    they expire, but lists no longer include it.
    """

    async def put_facts(self, facts: Sequence[Facts]) -> None:
        """Store the facts of responses that are not stored themselves, in one transaction."""
        ...

    async def list_facts(self, tenant: str | None, query: FactsQuery) -> FactsPage:
        """Return one page of facts, ordered by the start of the responses. If `tenant` is None, include all tenants."""
        ...

    async def bodies(self, tenant: str, response_id: str) -> bytes | None:
        """Return the stored requests that backends received for a response, or None if they were not stored."""
        ...

    async def find_facts(self, tenant: str | None, response_id: str) -> FactsFamily | None:
        """Return the facts of a response with its spans and chain, or None if it is unknown.

        If `tenant` is None, find the response of any tenant.
        """
        ...

    async def changed_facts(self, behind: int | None) -> tuple[int, Sequence[Facts]]:
        """Return the facts of all tenants that changed after the position `behind`, oldest first, and the new position.

        If `behind` is None, return only the newest position. Facts that another server writes can appear before the
        returned position: start the next read a little earlier, and skip the facts that you have seen.
        """
        ...

    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        """Return figures of ended responses of one tenant, or of all tenants. Deleted responses are included."""
        ...

    async def sum_up(self) -> bool:
        """Add some responses to the sums that `figures` reads; return whether more responses remain.

        Any server can call this at any time; each response is added once.
        """
        ...

    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        """Return the spans of a response as they were stored, or None."""
        ...
