"""Saving responses, measuring chains, pages of an input, and deleting expired data."""

from abc import abstractmethod
from collections.abc import Mapping

from antiphon.ids import Clock
from antiphon.storage.contract import RETENTION
from antiphon.storage.operations import chains, idempotency, pages, responses
from antiphon.storage.records.responses import ChainExtent, ItemPage, PageQuery, StoredResponse
from antiphon.storage.records.tenants import Reply
from antiphon.storage.sql_store.performer import Performer

KEPT_FAILURES = 30 * 86_400
"""Seconds for which failed deliveries are listed."""

LONGEST = 1_000_000
"""Maximum number of responses of a chain that are counted, because a cycle has no end."""

_AGES = {
    "responses": 0,
    "keys": idempotency.KEPT,
    "deliveries": KEPT_FAILURES,
    "answers": 0,
    "chat_completions": 0,
    "files": 0,
    "file_texts": 0,
    "pending_uploads": 0,
    "uploads": 86_400,
    "minutes": 7 * 86_400,
    "hours": 400 * 86_400,
    "four_hours": 400 * 86_400,
    "sessions": 0,
    "codes": 0,
}


class SqlResponses(Performer):
    """The methods of a store for responses."""

    def __init__(self, url: str, now: Clock) -> None:
        super().__init__(url, now)
        self._measured: chains.Measured = {}

    @abstractmethod
    async def _save_plainly(self, response: StoredResponse) -> None:
        """Store a response without a conversation or a key. Many concurrent saves share a transaction."""

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """See `Store.save`. A save that has begun completes even if the caller is cancelled."""
        is_plain = response.conversation_id is None and reply is None
        for item in (*response.input, *response.output):
            is_plain = is_plain and item.blob is None
        if is_plain:
            await self._save_plainly(responses.dated(response, self.clock.shift) if self.clock.shift else response)
            return True
        is_kept = await self._write(lambda: responses.save(response, append=append, reply=reply), response.tenant)
        self._tell(response.id)
        return is_kept

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """See `Store.input_page`."""
        head = await self.read(pages.head, tenant, response_id)
        if head is None:
            return None
        length, parent = 0, head.previous_response_id
        if parent is not None:
            extent = await self.measure_chain(tenant, parent, LONGEST)
            length = extent.length if extent.is_whole else 0
        return await self.read(pages.input_page, tenant, head, query, length)

    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        """See `Store.measure_chain`. The chain is measured again only after data of the tenant was deleted."""
        return await self.read(chains.measure_chain, tenant, response_id, most, self._measured)

    async def clock_skew(self) -> float | None:
        """See `Store.clock_skew`."""
        return 0.0

    async def purge(self, retention: int = RETENTION, *, dry_run: bool = False) -> Mapping[str, int]:
        """See `Store.purge`."""
        step, ages = self._count_old if dry_run else self._purge, {**_AGES, "facts": retention, "containers": retention}
        return {table: await step(table, self.clock.now() - age) for table, age in ages.items()}

    async def _count_old(self, table: str, before: int) -> int:
        return await self._read(lambda: responses.count_old(f"count_{table}", before))

    async def _purge(self, table: str, before: int) -> int:
        return await self._in_steps(f"purge_{table}", before)
