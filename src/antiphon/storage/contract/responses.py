"""The part of the contract that keeps responses and their items."""

from collections.abc import Mapping
from typing import Protocol

from antiphon.storage.records import (
    ChainExtent,
    ItemPage,
    PageQuery,
    PurgeSize,
    Reply,
    StoredItem,
    StoredResponse,
)

RETENTION = 30 * 86_400
"""Seconds for which facts are kept by default."""


class Responses(Protocol):
    """Responses and their items. What has expired is unknown to every method."""

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """Keep a response that has ended, durable before this returns; the same id again replaces all of it.

        If it is part of a conversation, releases the conversation, and with `append` first puts the response's
        items at the conversation's end; False, and nothing kept, where the response does not hold the conversation
        any more. `reply` is kept for its `Idempotency-Key` in the same step.
        """
        ...

    async def load(self, tenant: str, response_id: str, *, few: bool = False) -> StoredResponse | None:
        """Return the response with its input and output in order, or None where it is unknown.

        With `few`, one with many or large items comes without them, and says so; a large body is omitted too.
        """
        ...

    async def delete(self, tenant: str, response_id: str) -> bool:
        """Forget the response, its items and events; False where it is unknown.

        Its children keep naming it as their parent.
        """
        ...

    async def history(
        self, tenant: str, response_id: str, extent: ChainExtent | None = None
    ) -> list[StoredItem] | None:
        """Return every item of the chain that ends in this response, oldest first.

        The order is each ancestor's input, then its output, down to this response's own input and output; before
        them, where the oldest was made in a conversation, what stood in that conversation. None where this response
        or any ancestor is unknown, or is its own ancestor: a chain without a head is no chain. Linear in the length
        of the chain. `extent` is the result of `measure_chain`, if the caller has it.
        """
        ...

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """Return a part of what a response was made from: the history of the one that it follows, then its own input.

        Where it was made in a conversation, what stood there comes first. None where the response is unknown. A chain
        without a head counts as nothing. Reads about as much as it returns, however long the list is.
        """
        ...

    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        """Measure what `history` would find on its way up from this one, which counts; at most `most` responses.

        0 where this response is unknown. Where an ancestor is unknown, those below it are counted. A longer chain is
        not whole, and has at least these items and bytes. Every turn calls this: a store remembers what it measured,
        so that it does not walk up a chain that grows again and again.
        """
        ...

    async def find_item(self, tenant: str, item_id: str, *, few: bool = False) -> StoredItem | None:
        """Return the newest stored item with that id, else one of a conversation, else None.

        With `few`, a large one comes as a `LargeItem`.
        """
        ...

    async def clock_skew(self) -> float | None:
        """Return the seconds by which this process's clock is ahead of the store's; None while that is not known.

        What has expired is decided by the store's clock: from now on every method corrects this process's by what was
        measured. Call it every few seconds, and do not purge while the clocks differ or are not known to agree.
        """
        ...

    async def purge_size(self, fraction: float) -> PurgeSize:
        """Return what `purge` would delete of what is stored, and whether that is more than this fraction.

        Stored are responses and chat completions.
        """
        ...

    async def purge(self, retention: int = RETENTION, *, dry_run: bool = False) -> Mapping[str, int]:
        """Permanently delete expired data, in small steps; return the number of rows of each table.

        Vector stores that have expired lose their files; expired files leave all vector stores.
        Responses, chat completions and answers expire at their `expires_at`, facts and expired containers after
        `retention` seconds, keys after a day, failed deliveries after a month, sums of minutes after a week and of
        hours after 400 days.
        """
        ...
