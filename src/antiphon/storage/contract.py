"""What the engine asks of a store. Any implementation can be proved with `antiphon.testing.check_store`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

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

__all__ = [
    "JOBS",
    "NOTHING_RESERVED",
    "Announcement",
    "ApiKey",
    "Backlog",
    "BucketState",
    "ChainExtent",
    "DayOfUse",
    "Delivery",
    "DueDelivery",
    "Frames",
    "ItemPage",
    "Job",
    "KeyReservation",
    "Limits",
    "LockResult",
    "PageQuery",
    "Progress",
    "Pulse",
    "PurgeSize",
    "Reply",
    "Reservation",
    "Store",
    "StoredAnswer",
    "StoredConversation",
    "StoredItem",
    "StoredResponse",
    "Tail",
    "UsageRecord",
    "WebhookEndpoint",
]


JOBS = "jobs"
"""What is told in place of a response's id when a job waits."""


class Pulse(Protocol):
    """A worker's heartbeat over a connection of its own, used by one thread, which need not have an event loop."""

    def beat(self) -> None:
        """Show that the worker lives; blocks for some seconds at most. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Responses(Protocol):
    """Responses and their items. What has expired is unknown to every method."""

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """Keep a response that has ended, durable before this returns; the same id again replaces all of it.

        Where it is part of a conversation, lets go of the conversation, and with `append` first puts the response's
        items at the conversation's end; False, and nothing kept, where the response does not hold the conversation
        any more. `reply` is kept for its `Idempotency-Key` in the same step.
        """
        ...

    async def load(self, tenant: str, response_id: str, *, few: bool = False) -> StoredResponse | None:
        """Return the response with its input and output in order, or None where it is unknown.

        With `few`, one with many or large items comes without them, and says so.
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
        of the chain. `extent` is what `measure_chain` said of it, where the caller has asked.
        """
        ...

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """Return a part of what a response was made from: the history of the one that it follows, then its own input.

        Where it was made in a conversation, what stood there comes first. None where the response is unknown. A chain
        without a head counts as nothing. Reads about as much as it returns, however long the list is.
        """
        ...

    async def measure_chain(
        self, tenant: str, response_id: str, most: int, parent_id: str | None = None
    ) -> ChainExtent:
        """Measure what `history` would find on its way up from this one, which counts; at most `most` responses.

        0 where this response is unknown. Where an ancestor is unknown, those below it are counted. `parent_id` is the
        response that it follows, where the caller knows it: a store that remembers chains may be faster then.
        """
        ...

    async def find_item(self, tenant: str, item_id: str) -> StoredItem | None:
        """Return the newest stored item of that id, or None; else one of a conversation."""
        ...

    async def clock_skew(self) -> float | None:
        """Return the seconds by which this process's clock is ahead of the store's; None while that is not known.

        What has expired is decided by the store's clock: from now on every method corrects this process's by what was
        measured. Call it every few seconds, and do not purge while the clocks differ or are not known to agree.
        """
        ...

    async def purge_size(self, fraction: float) -> PurgeSize:
        """Return what `purge` would delete of the stored responses, and whether that is more than this fraction."""
        ...

    async def purge(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Forget for good what has expired, in small steps; return how many rows of each table that are.

        Responses and answers at their `expires_at`, keys after a day, deliveries given up a month ago.
        """
        ...


class Jobs(Protocol):
    """Background responses. The row is the job: it waits in the queue, belongs to one worker, and is fenced.

    A worker is a name. It shows that it lives by its heartbeat; others may `expire_worker` one whose beat stands still.
    An expired worker keeps what it owns until another worker takes it, and is alive again with its next beat.
    """

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
        """Keep a queued response with the request that it answers; it holds its conversation from now on.

        Nothing is kept where the result is `BUSY` or `UNKNOWN` (another response holds the conversation, or it does not
        exist), or `FULL`: `most` jobs of the tenant wait already, None for any number. However many requests come at
        once, no more jobs wait.
        """
        ...

    async def claim(self, worker: str, per_tenant: int, per_tenant_here: int | None = None) -> Job | None:
        """Give the worker the next job that waits, which is in progress from now on; None where there is none.

        A job waits if no worker owns it, or an expired one. Next is the tenant with the fewest jobs in progress, and of
        its jobs the oldest. Left out are a tenant with `per_tenant` jobs in progress at all workers, or with
        `per_tenant_here` at this one (None for any number), and an API key with as many in progress as its limit for
        concurrent requests. A job of an expired worker loses the events since the last `keep`, and counts as lost.
        """
        ...

    async def advance(self, job: Job, progress: Progress) -> Job | None:
        """Keep progress; return the job as it stands now, None where `job` is not the newest version."""
        ...

    async def finish(
        self,
        job: Job,
        response: StoredResponse,
        frames: Sequence[Frames] = (),
        *,
        append: bool = False,
        announcement: Announcement | None = None,
    ) -> bool:
        """End a job with its response's last state; False, and nothing kept, where `job` is not the newest version.

        As `save` does it, with its last events, and with a delivery to each webhook endpoint of the tenant that
        wants the announcement: all of it durable together.
        """
        ...

    async def find_job(self, tenant: str, response_id: str) -> Job | None:
        """Return the job of a response as it stands, whoever runs it; None where there is none."""
        ...

    async def backlog(self) -> Backlog:
        """Return how much waits in the queue and in the outbox, of all tenants together."""
        ...

    async def owned(self, worker: str) -> Mapping[str, int]:
        """Return the worker's jobs: the version of each by its response's id."""
        ...

    async def held(self, worker: str) -> Sequence[str]:
        """Return the responses for which the worker holds a conversation or has reserved a key."""
        ...

    async def release(self, worker: str, response_id: str) -> None:
        """Free what the worker holds for a response."""
        ...

    async def heartbeat(self, worker: str) -> None:
        """Show that the worker lives."""
        ...

    def pulse(self, worker: str) -> Pulse | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        None where all workers of the store run in this process: `heartbeat` is enough there.
        """
        ...

    async def heartbeats(self) -> Mapping[str, int]:
        """Return each worker that owns anything and has not expired, with its beat, which changes while it lives."""
        ...

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        """Offer what a worker owns to others, if its beat is still this; False where it is not.

        Its jobs, conversations and idempotency keys may be taken now; what nobody took it may still finish. None as
        `beat` comes from the worker itself, which ends: its jobs wait again, uncounted, and the rest is free.
        """
        ...

    async def release_job(self, worker: str, response_id: str) -> None:
        """Put one of the worker's jobs back into the queue, without the events since the last `keep`."""
        ...

    async def tail(self, tenant: str, response_id: str, after: int) -> Tail | None:
        """Return a response's log: its events of greater numbers than `after`. None where it is unknown.

        Frames may begin before `after`; those that end before it are left out.
        """
        ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Have a listener called, on the event loop, soon after a response or its job has changed, with its id.

        It is `JOBS` where a job waits to be claimed, and empty where it is not known what changed. A change may be told
        more than once; one that another process made may not be told at all, so ask again after a while.
        """
        ...


class Conversations(Protocol):
    """Conversations and their items, which do not expire. A response that writes to one holds it meanwhile."""

    async def create_conversation(
        self, conversation: StoredConversation, items: Sequence[StoredItem], reply: Reply | None = None
    ) -> None:
        """Keep a new conversation with its first items."""
        ...

    async def load_conversation(self, tenant: str, conversation_id: str) -> StoredConversation | None:
        """Return the conversation, or None."""
        ...

    async def update_conversation(
        self, tenant: str, conversation_id: str, metadata: bytes
    ) -> StoredConversation | None:
        """Replace the metadata; return the conversation, or None."""
        ...

    async def delete_conversation(self, tenant: str, conversation_id: str) -> LockResult:
        """Forget the conversation and its items."""
        ...

    async def add_items(self, tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> LockResult:
        """Put items at the end."""
        ...

    async def items(self, tenant: str, conversation_id: str) -> list[StoredItem] | None:
        """Return all items in order; None where the conversation is unknown."""
        ...

    async def conversation_page(self, tenant: str, conversation_id: str, query: PageQuery) -> ItemPage | None:
        """Return a part of the items; None where the conversation is unknown. Reads about as much as it returns."""
        ...

    async def conversation_item(self, tenant: str, conversation_id: str, item_id: str) -> StoredItem | None:
        """Return one item, or None."""
        ...

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> LockResult:
        """Take one item out."""
        ...

    async def lock(self, tenant: str, conversation_id: str, response_id: str, worker: str) -> LockResult:
        """Hold the conversation for a response that the worker makes."""
        ...

    async def unlock(self, conversation_id: str, response_id: str) -> None:
        """Let go of a conversation, if the response holds it."""
        ...


class Keys(Protocol):
    """`Idempotency-Key`s, for a day each."""

    async def reserve(self, tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str) -> KeyReservation:
        """Reserve a key for a response that the worker is to make, unless it is; return what stands."""
        ...

    async def find_key(self, tenant: str, key: str) -> KeyReservation | None:
        """Return the reservation that stands, or None."""
        ...

    async def free_key(self, tenant: str, key: str, response_id: str) -> None:
        """Drop the reservation, if it is that response's and has no reply."""
        ...


class Webhooks(Protocol):
    """Webhook endpoints, and the outbox of what is to be delivered."""

    async def put_endpoint(self, endpoint: WebhookEndpoint, most: int = 0) -> bool:
        """Keep an endpoint; the same id again replaces it.

        Return False, and keep nothing, where the tenant has `most` other endpoints; 0 allows any number.
        """
        ...

    async def load_endpoint(self, tenant: str, endpoint_id: str) -> WebhookEndpoint | None:
        """Return an endpoint, or None."""
        ...

    async def endpoints(self, tenant: str) -> list[WebhookEndpoint]:
        """Return the tenant's endpoints, newest first."""
        ...

    async def delete_endpoint(self, tenant: str, endpoint_id: str) -> bool:
        """Forget an endpoint and what was to be delivered there; False where it is unknown."""
        ...

    async def due(self, limit: int) -> list[DueDelivery]:
        """Return deliveries whose time has come: the first of each tenant, then the second of each, and so on.

        So the deliveries of one tenant, however many, hide those of no other.
        """
        ...

    async def claim_delivery(self, delivery_id: str, hold: int) -> Delivery | None:
        """Take a delivery for `hold` seconds, in which nobody else gets it; None where its time has not come."""
        ...

    async def delivered(self, delivery_id: str) -> None:
        """Forget a delivery: it was received."""
        ...

    async def postpone(self, delivery_id: str, due_at: int | None, error: str) -> None:
        """Have a delivery tried again at `due_at`; None gives it up. `error` says what went wrong."""
        ...

    async def deliveries(self) -> list[Delivery]:
        """Return every delivery that waits or was given up, oldest first."""
        ...


class Secrets(Protocol):
    """What the servers of one store must share and nobody else may know."""

    async def secret(self, name: str, fresh: bytes) -> bytes:
        """Return the secret of that name; where there is none yet, `fresh` becomes it."""
        ...


class Answers(Protocol):
    """Answers of models, kept to be given again. What has expired is unknown."""

    async def keep_answer(self, answer: StoredAnswer) -> None:
        """Keep an answer in place of the one that its tenant has under this key."""
        ...

    async def find_answer(self, tenant: str, key: bytes) -> bytes | None:
        """Return the body of an answer, which is used by this, or None."""
        ...

    async def answers_size(self) -> int:
        """Return the bytes that all answers take, of every tenant."""
        ...

    async def trim_answers(self, limit: int) -> int:
        """Forget the answers that were not used for longest, until the rest takes `limit` bytes; return how many."""
        ...


class ApiKeys(Protocol):
    """Who may ask, for what, and what it came to."""

    async def put_api_key(self, key: ApiKey) -> None:
        """Keep a key; the same id again replaces it."""
        ...

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        """Return the key of this digest; None where there is none, or it is revoked or has expired."""
        ...

    async def api_keys(self) -> list[ApiKey]:
        """Return every key of every tenant, newest first, those that are revoked too."""
        ...

    async def has_api_keys(self) -> bool:
        """Whether a key was ever made."""
        ...

    async def take(self, key_id: str, limits: Limits, tokens: int) -> BucketState:
        """Take one request and so many tokens out of the key's limits, if all of them have room; return what stands.

        However many ask at once, in however many processes, no more than the limits allow are granted. What is larger
        than a whole limit counts as the whole limit.
        """
        ...

    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        """Count what was used, and settle what was taken in advance."""
        ...

    async def usage(self, tenant: str, begin: int, end: int) -> list[DayOfUse]:
        """Return what the tenant's keys used on the days (UTC) that begin from `begin` to before `end`, in order."""
        ...


class Sizes(Protocol):
    """How much each tenant has stored."""

    async def stored_bytes(self, tenant: str) -> int:
        """Return the bytes of all responses and conversations of a tenant, their items included.

        Exact at any time, and read at once: what saves, replaces, deletes or purges them counts in the same step.
        """
        ...


class Store(Responses, Jobs, Conversations, Keys, Webhooks, Secrets, Answers, ApiKeys, Sizes, Protocol):
    """Keeps what must survive. Every method raises `StoreError` where the storage itself fails.

    Guarantees: what a method that writes returned from is durable, whole or not at all; reads see every finished
    write of this store; calls may run concurrently from many tasks of one event loop, and several processes may have
    the same place open. Nothing of one tenant is known to another.
    """

    url: str
    """Where it keeps things, as the operator wrote it, without a password."""

    async def check(self) -> None:
        """Raise `StoreError` unless the storage answers."""
        ...

    async def check_writable(self) -> None:
        """Raise `StoreError` unless something can be written now and is durable. Nobody reads what is written."""
        ...

    async def inspect(self) -> Mapping[str, int]:
        """Look through all of it; return how many rows each table has. Raises `StoreError` where it is damaged."""
        ...

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        Every other method raises `StoreError` from then on; closing again does nothing.
        """
        ...
