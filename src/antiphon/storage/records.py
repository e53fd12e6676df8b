"""What a store keeps, as plain values. Times are whole seconds since the epoch; `tenant` says whose it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item as it is kept.

    `body` is the item's JSON as a client sees it. `sealed` is its `encrypted_content`, kept apart because only
    clients that ask for it see it; None where there is none. An id holds no NUL.
    """

    id: str
    body: bytes
    sealed: str | None = None


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """One response with its own new input and its output, never its history.

    `body` is the response object's JSON with an empty `output`; `status` outdoes the one in it.
    `previous_response_id` names the parent in the chain, None at its head.
    """

    id: str
    created_at: int
    status: str
    previous_response_id: str | None
    body: bytes
    input: Sequence[StoredItem] = ()
    output: Sequence[StoredItem] = ()
    tenant: str = ""
    conversation_id: str | None = None
    conversation_end: int | None = None
    """The position in its conversation at which its own items begin: what stands before is its history."""
    expires_at: int | None = None
    """From when on it is unknown; None keeps it until it is deleted."""
    is_stored: bool = True
    """False for unstored background work, which is kept for polling alone: nothing can refer to it."""
    is_streamed: bool = False
    """Its events are kept, and can be replayed."""
    is_partial: bool = False
    """It was read without its items, which are many."""


@dataclass(frozen=True, slots=True)
class ChainExtent:
    """How many responses stand in a chain, and whether one of them was made in a conversation, as its head may be.

    `items` are all that its history has, those of the conversation included, and `size` the bytes of their bodies and
    of what is sealed with them. Where it `is_whole`, its head was found.
    """

    length: int
    is_in_conversation: bool
    items: int = 0
    size: int = 0
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Which part of a list of items to read: at most `limit` items and `most_bytes`, but at least one item.

    `after` and `before` are ids of items, in the order that is asked for; of items with the same id, the first counts.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = False
    most_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A part of a list. `unknown` is `after` or `before` where that names no item of it; then there is no part."""

    items: Sequence[StoredItem] = ()
    has_more: bool = False
    unknown: str = ""


class PurgeSize(Struct, frozen=True):
    """What a purge would delete of stored responses: `expired` of about `total`; counted no further than too many."""

    expired: int
    total: int
    is_too_large: bool
    """More than the fraction that one purge may delete, and more than a small store's purge ever is."""


class Frames(Struct, frozen=True):
    """Consecutive events as they go to a client: `body` is server-sent events, of the numbers `first` to `last`."""

    first: int
    last: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Reservation:
    """By which key something was asked for, empty where by none, and the tokens that were taken in advance for it."""

    key_id: str = ""
    tokens: int = 0


NOTHING_RESERVED = Reservation()


@dataclass(frozen=True, slots=True)
class Job:
    """The work on a background response, as one who may write to it sees it.

    `response` holds the output items that are done. `version` is the fence: whoever writes names the version that he
    has seen, and every write makes a new one.
    """

    response: StoredResponse
    request: bytes
    """The body of the request, as the client sent it."""
    version: int
    next_number: int
    """The number of the next event; numbers below were given out, also those of events that are gone."""
    kept_number: int
    """The number of the first event that is dropped if this attempt ends."""
    attempt: int
    """How often it was begun, this time included."""
    lost: int
    """How often its worker died of it."""
    taken: Reservation = NOTHING_RESERVED
    called: bytes = b""
    """What was put down last of the calls that are being carried out for it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What was made of a background response since the last time.

    `output` holds the items that closed, each with its output index. With `keep`, everything so far outlives this
    attempt; events since the last such moment are dropped when the work begins anew. `called` is kept in any case, in
    place of what was there.
    """

    frames: Sequence[Frames] = ()
    output: Sequence[tuple[int, StoredItem]] = ()
    keep: bool = False
    called: bytes | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits: jobs that nobody has claimed, deliveries that are neither received nor given up."""

    jobs: int
    deliveries: int


class Tail(Struct, frozen=True):
    """A response's event log from somewhere on."""

    status: str
    is_streamed: bool
    generation: int
    """How often half-made events were dropped. Who has seen another number has seen events that never were."""
    frames: Sequence[Frames]


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation without its items, of which `items` counts how many there are, `size` their bytes.

    `metadata` is a JSON object.
    """

    id: str
    created_at: int
    metadata: bytes
    tenant: str = ""
    next_position: int = 0
    items: int = field(default=0, compare=False)
    size: int = field(default=0, compare=False)


class LockResult(Enum):
    """What became of a write to a conversation, or of a job that was to be queued."""

    DONE = "done"
    UNKNOWN = "unknown"
    BUSY = "busy"
    """A response holds it."""
    FULL = "full"
    """As many jobs of the tenant wait as may."""
    DUPLICATE = "duplicate"
    """It has an item of that id already."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What answered a request with an `Idempotency-Key`: its JSON, or its events; no body says: replay the log."""

    tenant: str
    key: str
    is_stream: bool
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyReservation:
    """An `Idempotency-Key` that was seen. `fingerprint` tells the request; `reply` is None while it is worked on."""

    fingerprint: bytes
    response_id: str
    owner: str | None
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A model's answer as it is kept to be given again. `key` is a digest of all that was asked."""

    tenant: str
    key: bytes
    body: bytes
    used_at: int
    """When it was given last, to a minute or so."""
    expires_at: int = 0


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event for webhooks: its id, its type such as `response.completed`, and the JSON to deliver."""

    id: str
    type: str
    created_at: int
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """Where events are delivered. `old_secret` signs beside `secret` until `old_secret_until`."""

    id: str
    tenant: str
    name: str
    url: str
    event_types: Sequence[str]
    created_at: int
    updated_at: int
    secret: str
    old_secret: str | None = None
    old_secret_until: int = 0


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery whose time has come, before anyone has claimed it."""

    id: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one endpoint. `attempts` counts those begun; `failed_at` is set once it was given up."""

    id: str
    endpoint: WebhookEndpoint
    type: str
    body: bytes
    created_at: int
    due_at: int
    attempts: int
    failed_at: int | None
    last_error: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a key allows. None stands for no limit; no models, for every model."""

    models: Sequence[str] = ()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    """Of a day in UTC."""
    concurrency: int | None = None
    """Responses that one process makes at once."""

    def fit(self, tokens: int) -> int:
        """Return how many of these tokens are taken in advance: no more than a whole limit."""
        return min([tokens, *(most for most in (self.tokens_per_minute, self.tokens_per_day) if most is not None)])


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key. The key itself is not kept: `digest` is its HMAC, `shown` what lists show of it.

    `old_digest` is as good as `digest` until `old_until`.
    """

    id: str
    tenant: str
    name: str
    digest: bytes
    shown: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    old_digest: bytes | None = None
    old_until: int = 0
    limits: Limits = Limits()
    caches: bool = False
    """Whether its requests are answered from the cache, where they do not say themselves."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """How far a key's limits are used up, and whether one request more was granted.

    A minute's limit comes back evenly: `requests_in` and `tokens_in` are the seconds until it is whole again, so that
    60 stands for nothing left. They may be more, where a response was longer than was reserved for it.
    """

    is_granted: bool
    requests_in: float
    tokens_in: float
    tokens_today: int


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What a key used at one time."""

    tenant: str
    key_id: str
    at: int
    requests: int
    input_tokens: int
    output_tokens: int
    taken: int = 0
    """Tokens that were taken in advance, and are given back for those that were used."""


@dataclass(frozen=True, slots=True)
class DayOfUse:
    """What one key used on one day, which is told by its first second."""

    key_id: str
    name: str
    shown: str
    day: int
    requests: int
    input_tokens: int
    output_tokens: int
