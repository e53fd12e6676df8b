"""The contract's methods as acts, whichever database performs them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from secrets import token_bytes

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.contract import JOBS, Pulse
from antiphon.storage.operations import (
    answers,
    api_keys,
    conversations,
    idempotency,
    jobs,
    pages,
    responses,
    secrets,
    webhooks,
)
from antiphon.storage.operations.step import Operation, R
from antiphon.storage.records import (
    NOTHING_RESERVED,
    Announcement,
    ApiKey,
    Backlog,
    BucketState,
    ChainExtent,
    DayOfUse,
    Delivery,
    DueDelivery,
    Frames,
    ItemPage,
    Job,
    KeyReservation,
    Limits,
    LockResult,
    PageQuery,
    Progress,
    PurgeSize,
    Reply,
    Reservation,
    StoredAnswer,
    StoredConversation,
    StoredItem,
    StoredResponse,
    Tail,
    UsageRecord,
    WebhookEndpoint,
)

AT_ONCE = 500
"""Rows that one step of a purge takes out, so that saves come between."""

KEPT_FAILURES = 30 * 86_400
"""Seconds for which a delivery that was given up is still listed."""

USED_EVERY = 60
"""Seconds within which a second use of an answer is not written down."""

READS_AT_ONCE = 5
"""Large reads that a process does at once, of one tenant alone four; each takes the CPU in pieces of milliseconds."""

READS_WAITING = 1000
"""Large reads that may wait; more are refused at once."""

OVERLOADED = "The store is overloaded: too many large reads are waiting."

LONGEST = 1_000_000
"""Responses of a chain that are counted: a circle has no end."""


def shared_reads() -> FairScheduler:
    """Return the scheduler of a process's large reads."""
    return FairScheduler(READS_AT_ONCE, READS_WAITING, leaves_room=True)


_AGES = {"responses": 0, "keys": idempotency.KEPT, "deliveries": KEPT_FAILURES, "answers": 0}

MakeAct = Callable[[], Operation[R]]
"""Makes the act anew each time that it must be performed."""


class SqlStore(ABC):
    """A `Store` but for its database: how an act is performed, and how many plain saves go in together."""

    def __init__(self, url: str, now: Clock) -> None:
        self.url = url
        self._clock = now
        self._correction = self._shift = 0.0
        self._listeners: list[Callable[[str], None]] = []
        self._closed = False

    @abstractmethod
    async def _read(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Perform an act that only reads. It sees this tenant's rows alone, where the database can see to that."""

    @abstractmethod
    async def _write(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Perform an act that writes, durable when this returns. It sees what `_read` shows.

        The act may be performed more than once.
        """

    @abstractmethod
    async def _save_plainly(self, response: StoredResponse) -> None:
        """Keep a response without a conversation or a key; many at once share a transaction."""

    async def check(self) -> None:
        """See `Store.check`."""
        await self._read(lambda: responses.load("", "resp_check", self._now()))

    async def check_writable(self) -> None:
        """See `Store.check_writable`."""
        await self._write(lambda: secrets.try_to_write(token_bytes(8)))

    async def inspect(self) -> Mapping[str, int]:
        """See `Store.inspect`."""
        return await self._read(responses.counts)

    # Responses.

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """See `Store.save`; what was begun is kept even if the caller is cancelled."""
        if self._shift:
            response = self._dated(response)
        if response.conversation_id is None and reply is None:
            await self._save_plainly(response)
            return True
        is_kept = await self._write(lambda: responses.save(response, append, reply), response.tenant)
        self._tell(response.id)
        return is_kept

    async def load(self, tenant: str, response_id: str, *, few: bool = False) -> StoredResponse | None:
        """See `Store.load`; the items come as tuples."""
        return await self._read(lambda: responses.load(tenant, response_id, self._now(), few), tenant)

    async def delete(self, tenant: str, response_id: str) -> bool:
        """See `Store.delete`."""
        return await self._write(lambda: responses.delete(tenant, response_id, self._now()), tenant)

    async def history(
        self, tenant: str, response_id: str, extent: ChainExtent | None = None
    ) -> list[StoredItem] | None:
        """See `Store.history`."""
        return await self._read(lambda: responses.history(tenant, response_id, self._now(), extent), tenant)

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """See `Store.input_page`."""
        head = await self._read(lambda: pages.head(tenant, response_id, self._now()), tenant)
        if head is None:
            return None
        length, parent = 0, head.previous_response_id
        if parent is not None:
            extent = await self.measure_chain(tenant, parent, LONGEST, head.grandparent_id)
            length = extent.length if extent.is_whole else 0
        return await self._read(lambda: pages.input_page(tenant, head, self._now(), query, length), tenant)

    async def measure_chain(
        self, tenant: str, response_id: str, most: int, parent_id: str | None = None
    ) -> ChainExtent:
        """See `Store.measure_chain`."""
        return await self._read(lambda: responses.measure_chain(tenant, response_id, self._now(), most), tenant)

    async def find_item(self, tenant: str, item_id: str) -> StoredItem | None:
        """See `Store.find_item`."""
        return await self._read(lambda: responses.find_item(tenant, item_id, self._now()), tenant)

    async def clock_skew(self) -> float | None:
        """See `Store.clock_skew`."""
        return 0.0

    async def purge_size(self, fraction: float) -> PurgeSize:
        """See `Store.purge_size`. It is a write, since SQLite reads on the event loop and this may be many rows."""
        return await self._write(lambda: responses.purge_size(fraction, self._now()))

    async def purge(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """See `Store.purge`."""
        step = self._count_old if dry_run else self._purge
        return {table: await step(table, self._now() - age) for table, age in _AGES.items()}

    async def _count_old(self, table: str, before: int) -> int:
        return await self._read(lambda: responses.count_old(f"count_{table}", before))

    async def _purge(self, table: str, before: int) -> int:
        return await self._in_steps(f"purge_{table}", before)

    async def _in_steps(self, query: str, bound: int) -> int:
        gone, step = 0, AT_ONCE
        while step == AT_ONCE:
            step = await self._write(lambda: responses.purge(query, bound, AT_ONCE))
            gone += step
        return gone

    # Jobs.

    async def enqueue(
        self,
        response: StoredResponse,
        request: bytes,
        frames: Sequence[Frames],
        reply: Reply | None = None,
        taken: Reservation = NOTHING_RESERVED,
        *,
        most: int | None = None,
    ) -> LockResult:
        """See `Store.enqueue`."""
        response = self._dated(response)
        outcome = await self._write(
            lambda: jobs.enqueue(response, request, frames, reply, taken, most), response.tenant
        )
        self._tell_all([response.id])
        return outcome

    async def claim(self, worker: str, per_tenant: int, per_tenant_here: int | None = None) -> Job | None:
        """See `Store.claim`."""
        here = per_tenant if per_tenant_here is None else per_tenant_here
        job = await self._write(lambda: jobs.claim(worker, per_tenant, here))
        if job is not None and job.lost:
            self._tell(job.response.id)  # its half-made events were dropped
        return job

    async def advance(self, job: Job, progress: Progress) -> Job | None:
        """See `Store.advance`."""
        newer = await self._write(lambda: jobs.advance(job, progress), job.response.tenant)
        self._tell(job.response.id)
        return newer

    async def finish(
        self,
        job: Job,
        response: StoredResponse,
        frames: Sequence[Frames] = (),
        *,
        append: bool = False,
        announcement: Announcement | None = None,
    ) -> bool:
        """See `Store.finish`."""
        response = self._dated(response)
        if announcement is not None:
            announcement = replace(announcement, created_at=announcement.created_at + int(self._shift))
        is_kept = await self._write(lambda: jobs.finish(job, response, frames, append, announcement), response.tenant)
        self._tell(response.id)
        return is_kept

    async def find_job(self, tenant: str, response_id: str) -> Job | None:
        """See `Store.find_job`."""
        return await self._read(lambda: jobs.find_job(tenant, response_id), tenant)

    async def backlog(self) -> Backlog:
        """See `Store.backlog`."""
        return await self._read(jobs.backlog)

    async def owned(self, worker: str) -> Mapping[str, int]:
        """See `Store.owned`."""
        return await self._read(lambda: jobs.owned(worker))

    async def held(self, worker: str) -> Sequence[str]:
        """See `Store.held`."""
        return await self._read(lambda: jobs.held(worker))

    async def release(self, worker: str, response_id: str) -> None:
        """See `Store.release`."""
        await self._write(lambda: jobs.release(worker, response_id))
        self._tell(response_id)

    async def heartbeat(self, worker: str) -> None:
        """See `Store.heartbeat`."""
        await self._write(lambda: jobs.beat(worker))

    def pulse(self, worker: str) -> Pulse | None:
        """See `Store.pulse`."""
        return None

    async def heartbeats(self) -> Mapping[str, int]:
        """See `Store.heartbeats`."""
        return await self._read(jobs.beats)

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        """See `Store.expire_worker`."""
        changed = await self._write(lambda: jobs.retire(worker) if beat is None else jobs.expire(worker, beat))
        self._tell_all(changed)
        return changed is not None

    async def release_job(self, worker: str, response_id: str) -> None:
        """See `Store.release_job`."""
        self._tell_all(await self._write(lambda: jobs.give_back(worker, response_id)))

    async def tail(self, tenant: str, response_id: str, after: int) -> Tail | None:
        """See `Store.tail`."""
        return await self._read(lambda: jobs.tail(tenant, response_id, after, self._now()), tenant)

    def on_change(self, listener: Callable[[str], None]) -> None:
        """See `Store.on_change`."""
        self._listeners.append(listener)

    # Conversations.

    async def create_conversation(
        self, conversation: StoredConversation, items: Sequence[StoredItem], reply: Reply | None = None
    ) -> None:
        """See `Store.create_conversation`."""
        await self._write(lambda: conversations.create(conversation, items, reply), conversation.tenant)
        self._tell("")

    async def load_conversation(self, tenant: str, conversation_id: str) -> StoredConversation | None:
        """See `Store.load_conversation`."""
        return await self._read(lambda: conversations.load(tenant, conversation_id), tenant)

    async def update_conversation(
        self, tenant: str, conversation_id: str, metadata: bytes
    ) -> StoredConversation | None:
        """See `Store.update_conversation`."""
        return await self._write(lambda: conversations.update(tenant, conversation_id, metadata), tenant)

    async def delete_conversation(self, tenant: str, conversation_id: str) -> LockResult:
        """See `Store.delete_conversation`."""
        return await self._write(lambda: conversations.delete(tenant, conversation_id), tenant)

    async def add_items(self, tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> LockResult:
        """See `Store.add_items`."""
        return await self._write(lambda: conversations.add(tenant, conversation_id, items), tenant)

    async def items(self, tenant: str, conversation_id: str) -> list[StoredItem] | None:
        """See `Store.items`."""
        return await self._read(lambda: conversations.items(tenant, conversation_id), tenant)

    async def conversation_page(self, tenant: str, conversation_id: str, query: PageQuery) -> ItemPage | None:
        """See `Store.conversation_page`."""
        return await self._read(lambda: pages.conversation_page(tenant, conversation_id, query), tenant)

    async def stored_bytes(self, tenant: str) -> int:
        """See `Store.stored_bytes`."""
        return await self._read(lambda: conversations.stored_bytes(tenant), tenant)

    async def conversation_item(self, tenant: str, conversation_id: str, item_id: str) -> StoredItem | None:
        """See `Store.conversation_item`."""
        return await self._read(lambda: conversations.item(tenant, conversation_id, item_id), tenant)

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> LockResult:
        """See `Store.delete_item`."""
        return await self._write(lambda: conversations.delete_item(tenant, conversation_id, item_id), tenant)

    async def lock(self, tenant: str, conversation_id: str, response_id: str, worker: str) -> LockResult:
        """See `Store.hold`."""
        return await self._write(lambda: jobs.hold(tenant, conversation_id, response_id, worker), tenant)

    async def unlock(self, conversation_id: str, response_id: str) -> None:
        """See `Store.let_go`."""
        await self._write(lambda: conversations.let_go(conversation_id, response_id))

    # Keys.

    async def reserve(self, tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str) -> KeyReservation:
        """See `Store.reserve`."""
        return await self._write(
            lambda: idempotency.reserve(tenant, key, fingerprint, response_id, worker, self._now()), tenant
        )

    async def find_key(self, tenant: str, key: str) -> KeyReservation | None:
        """See `Store.find_key`."""
        return await self._read(lambda: idempotency.find(tenant, key, self._now()), tenant)

    async def free_key(self, tenant: str, key: str, response_id: str) -> None:
        """See `Store.free_key`."""
        await self._write(lambda: idempotency.free(tenant, key, response_id), tenant)
        self._tell(response_id)

    # Webhooks.

    async def put_endpoint(self, endpoint: WebhookEndpoint, most: int = 0) -> bool:
        """See `Store.put_endpoint`."""
        return await self._write(lambda: webhooks.put(endpoint, most), endpoint.tenant)

    async def load_endpoint(self, tenant: str, endpoint_id: str) -> WebhookEndpoint | None:
        """See `Store.load_endpoint`."""
        return await self._read(lambda: webhooks.load(tenant, endpoint_id), tenant)

    async def endpoints(self, tenant: str) -> list[WebhookEndpoint]:
        """See `Store.endpoints`."""
        return await self._read(lambda: webhooks.endpoints(tenant), tenant)

    async def delete_endpoint(self, tenant: str, endpoint_id: str) -> bool:
        """See `Store.delete_endpoint`."""
        return await self._write(lambda: webhooks.delete(tenant, endpoint_id), tenant)

    async def due(self, limit: int) -> list[DueDelivery]:
        """See `Store.due`."""
        # It goes through every delivery that is due, so not where reads of SQLite are made: on the event loop.
        return await self._write(lambda: webhooks.due(limit, self._now()))

    async def claim_delivery(self, delivery_id: str, hold: int) -> Delivery | None:
        """See `Store.claim_delivery`."""
        return await self._write(lambda: webhooks.claim(delivery_id, hold, self._now()))

    async def delivered(self, delivery_id: str) -> None:
        """See `Store.delivered`."""
        await self._write(lambda: webhooks.delivered(delivery_id))

    async def postpone(self, delivery_id: str, due_at: int | None, error: str) -> None:
        """See `Store.postpone`."""
        due_at = due_at if due_at is None else due_at + int(self._shift)
        await self._write(lambda: webhooks.postpone(delivery_id, due_at, error, self._now()))

    async def deliveries(self) -> list[Delivery]:
        """See `Store.deliveries`."""
        return await self._read(webhooks.deliveries)

    # Secrets.

    async def secret(self, name: str, fresh: bytes) -> bytes:
        """See `Store.secret`."""
        return await self._write(lambda: secrets.agree(name, fresh))

    # Answers.

    async def keep_answer(self, answer: StoredAnswer) -> None:
        """See `Store.keep_answer`."""
        shift = int(self._shift)
        answer = replace(answer, used_at=answer.used_at + shift, expires_at=answer.expires_at + shift)
        await self._write(lambda: answers.keep(answer), answer.tenant)

    async def find_answer(self, tenant: str, key: bytes) -> bytes | None:
        """See `Store.find_answer`."""
        now = self._now()
        found = await self._read(lambda: answers.find(tenant, key, now), tenant)
        if found is None:
            return None
        if now - found.used_at >= USED_EVERY:
            await self._write(lambda: answers.use(tenant, key, now), tenant)
        return found.body

    async def answers_size(self) -> int:
        """See `Store.answers_size`."""
        return await self._read(answers.size)

    async def trim_answers(self, limit: int) -> int:
        """See `Store.trim_answers`."""
        return await self._in_steps("trim_answers", limit)

    # API keys.

    async def put_api_key(self, key: ApiKey) -> None:
        """See `Store.put_api_key`."""
        await self._write(lambda: api_keys.put(key))

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        """See `Store.find_api_key`."""
        return await self._read(lambda: api_keys.find(digest, self._now()))

    async def api_keys(self) -> list[ApiKey]:
        """See `Store.api_keys`."""
        return await self._read(api_keys.every)

    async def has_api_keys(self) -> bool:
        """See `Store.has_api_keys`."""
        return await self._read(api_keys.any_at_all)

    async def take(self, key_id: str, limits: Limits, tokens: int) -> BucketState:
        """See `Store.take`."""
        return await self._write(lambda: api_keys.take(key_id, limits, tokens, self._clock() + self._correction))

    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        """See `Store.charge`."""
        await self._write(lambda: api_keys.charge(uses, self._clock() + self._correction))

    async def usage(self, tenant: str, begin: int, end: int) -> list[DayOfUse]:
        """See `Store.usage`."""
        return await self._read(lambda: api_keys.usage(tenant, begin, end), tenant)

    def _now(self) -> int:
        return int(self._clock() + self._correction)

    def _correct(self, skew: float, correction: float) -> None:
        """Take over how far this process's clock is ahead of the store's, and what to add to it for what is read."""
        is_off = abs(skew) >= 1
        self._shift = -skew if is_off else 0.0
        self._correction = correction if is_off else 0.0

    def _dated(self, response: StoredResponse) -> StoredResponse:
        """Return a response that expires by the store's clock, as it would by this process's."""
        if not self._shift or response.expires_at is None:
            return response
        return replace(response, expires_at=response.expires_at + int(self._shift))

    def _tell_all(self, response_ids: Sequence[str] | None) -> None:
        for response_id in (*response_ids, JOBS) if response_ids else ():
            self._tell(response_id)

    def _tell(self, response_id: str) -> None:
        for listener in self._listeners:
            listener(response_id)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
