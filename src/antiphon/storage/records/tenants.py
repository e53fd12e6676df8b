"""What belongs to tenants beside responses: keys, answers, webhooks, use and sizes, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from antiphon.storage.records.money import Budget, ExhaustedBudget


@dataclass(frozen=True, slots=True)
class Reply:
    """What answered a request with an `Idempotency-Key`: its JSON, or its events; no body says: replay the log."""

    tenant: str
    key: str
    is_stream: bool
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyReservation:
    """A used `Idempotency-Key`. `fingerprint` identifies the request; `reply` is None while the request runs."""

    fingerprint: bytes
    response_id: str
    owner: str | None
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A cached answer of a model. `key` is a digest of the whole request."""

    tenant: str
    key: bytes
    body: bytes
    used_at: int
    """When it was last used, to a minute or so."""
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
    """A due delivery, before it is claimed."""

    id: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one endpoint. `attempts` counts started attempts; `failed_at` is set after the last."""

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
    budget: Budget | None = None
    """What its requests may cost; None for any amount."""

    def fit(self, tokens: int) -> int:
        """Return how many of these tokens are taken in advance: no more than a whole limit."""
        return min([tokens, *(most for most in (self.tokens_per_minute, self.tokens_per_day) if most is not None)])


class Role(StrEnum):
    """What an API key may do. Each role includes those before it."""

    USE = "use"
    """Use the API."""
    READ = "read"
    """See what its tenant has in the console."""
    ADMIN = "admin"
    """See all tenants, and change API keys and deliveries."""

    def includes(self, other: "Role") -> bool:
        """Whether this role may do what the other one may."""
        roles = list(Role)
        return roles.index(self) >= roles.index(other)


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
    role: Role = Role.USE
    tenant_budget: Budget | None = None
    """What the requests of all keys of its tenant together may cost. It is stored with the tenant, not with the key."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """How far a key's limits are used up, and whether one request more was granted.

    A minute's limit recovers evenly: `requests_in` and `tokens_in` are the seconds until it is whole again, so that
    60 stands for nothing left. They may be more, where a response was longer than was reserved for it.
    """

    is_granted: bool
    requests_in: float
    tokens_in: float
    tokens_today: int
    exhausted: ExhaustedBudget | None = None
    """The budget that has no room for the request, where that is why it was not granted."""


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What a key used at one time. Amounts are nano-units of the currency."""

    tenant: str
    key_id: str
    at: int
    requests: int
    input_tokens: int
    output_tokens: int
    taken: int = 0
    """Reserved tokens, which the used tokens replace at the end."""
    model: str = ""
    cached_tokens: int = 0
    """Of the input tokens, those that the backend had in its prefix cache."""
    cost: int = 0
    is_budgeted: bool = False
    """Whether the budgets of the key and its tenant count it."""
    cost_taken: int = 0
    """The reservation on the day of `at`, which is released."""


UsageField = Literal["tenant", "key", "model", "day"]
"""By what usage is summed up."""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sum of what was used; a field is None if the request did not group by it."""

    tenant: str | None
    key_id: str | None
    name: str | None
    """Of the key."""
    shown: str | None
    """Of the key."""
    model: str | None
    day: int | None
    """The first second of the day."""
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: int
    """Nano-units of the currency; of models without a price nothing."""


class TenantSize(Struct, frozen=True):
    """The bytes that one tenant has stored."""

    tenant: str
    stored_bytes: int


class StorageUse(Struct, frozen=True):
    """The bytes that all tenants have stored; `tenants` counts those that have stored any."""

    largest: Sequence[TenantSize]
    """The tenants that have stored most, in descending order."""
    tenants: int
    stored_bytes: int
