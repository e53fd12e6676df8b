"""The store contract for responses and their items."""

from collections.abc import Mapping
from typing import Protocol

from antiphon.storage.records import (
    ChainExtent,
    ItemPage,
    PageQuery,
    Reply,
    StoredResponse,
)

RETENTION = 30 * 86_400
"""Seconds after which facts expire by default."""


class Responses(Protocol):
    """Responses and their items. Every method treats expired data as unknown."""

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """Store or replace a response that has ended. It is durable when this returns.

        If the response belongs to a conversation, this unlocks the conversation; with `append`, the response's items
        are first appended to the conversation. Return False, and store nothing, if the response no longer holds the
        lock. `reply` is stored for its `Idempotency-Key` in the same transaction.
        """
        ...

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """Return one page of a response's complete input: the history of its parent, then its own input.

        If the response ran in a conversation, the items that the conversation had at that time come first. Return None
        if the response is unknown. A chain without a head counts as empty. Reads little more than it returns, however
        long the list is.
        """
        ...

    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        """Measure the chain that `history` would read, this response included, up to `most` responses.

        The length is 0 if this response is unknown. If an ancestor is unknown, only the responses below it are counted.
        A chain longer than `most` is not whole; its number of items and bytes is a lower bound. Every turn calls this,
        so a store should remember its measurements instead of walking up a growing chain each time.
        """
        ...

    async def clock_skew(self) -> float | None:
        """Return the seconds by which this process's clock is ahead of the store's clock, or None if not yet known.

        The store's clock decides what has expired: from now on, every method corrects this process's clock by the
        measured difference. Call this every few seconds, and do not purge while the clocks differ or the difference is
        unknown.
        """
        ...

    async def purge(self, retention: int = RETENTION, *, dry_run: bool = False) -> Mapping[str, int]:
        """Permanently delete expired data, in small steps; return the number of deleted rows of each table.

        Files are removed from expired vector stores, and expired files from all vector stores.
        Responses, chat completions and answers expire at their `expires_at`, facts and expired containers after
        `retention` seconds, keys after a day, failed deliveries after a month, sums of minutes after a week and of
        hours after 400 days.
        """
        ...
