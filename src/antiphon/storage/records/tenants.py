"""Other data of tenants: keys, cached answers, webhooks, usage and sizes, as plain values."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from antiphon.storage.records.money import Budget, ExhaustedBudget


class StoredReply(Struct, frozen=True):
    """The result of a request with an `Idempotency-Key`: JSON or events.

    An empty body means: replay the event log.
    """

    tenant: str
    key: str
    is_stream: bool
    body: bytes


class KeyReservation(Struct, frozen=True):
    """A used `Idempotency-Key`.

    `fingerprint` identifies the request; `reply` is None while the request runs.
    """

    fingerprint: bytes
    response_id: str
    owner: str | None
    reply: StoredReply | None


class StoredAnswer(Struct, frozen=True):
    """A cached answer of a model. `key` is a digest of the complete request."""

    tenant: str
    key: bytes
    body: bytes
    used_at: int
    """When it was last used, accurate to about a minute."""
    expires_at: int = 0


class FoundAnswer(Struct, frozen=True):
    """The body of a cached answer, and whether its use is to be recorded: not again soon after the
    last time.
    """

    body: bytes
    is_use_due: bool


class Announcement(Struct, frozen=True):
    """An event for webhooks: its id, its type (such as `response.completed`), and the JSON to
    deliver.
    """

    id: str
    type: str
    created_at: int
    body: bytes


class WebhookEndpoint(Struct, frozen=True):
    """A destination for events.

    Until `old_secret_until`, `old_secret` signs them in addition to `secret`.
    """

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


class DueDelivery(Struct, frozen=True):
    """A due delivery that is not yet claimed."""

    id: str
    tenant: str


class Delivery(Struct, frozen=True):
    """The delivery of one event to one endpoint.

    `attempts` counts started ones; the last sets `failed_at`.
    """

    id: str
    endpoint: WebhookEndpoint
    type: str
    body: bytes
    created_at: int
    due_at: int
    attempts: int
    failed_at: int | None
    last_error: str


class KeyLimits(Struct, frozen=True):
    """The limits of a key. None means no limit; an empty `models` allows every model."""

    models: Sequence[str] = ()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    """Per day in UTC."""
    concurrency: int | None = None
    """Maximum number of responses that one process runs concurrently."""
    budget: Budget | None = None
    """The maximum cost of its requests; None means no limit."""

    def fit(self, tokens: int) -> int:
        """Return the number of tokens to reserve: at most a whole limit."""
        return min(
            [
                tokens,
                *(
                    most
                    for most in (self.tokens_per_minute, self.tokens_per_day)
                    if most is not None
                ),
            ]
        )


class Role(StrEnum):
    """The permissions of an API key. Each role includes the roles before it."""

    USE = "use"
    """Use the API."""
    READ = "read"
    """View the data of its tenant in the console."""
    ADMIN = "admin"
    """View the data of all tenants, and manage API keys and deliveries."""

    def includes(self, other: "Role") -> bool:
        """Return whether this role includes all permissions of the other role."""
        roles = list(Role)
        return roles.index(self) >= roles.index(other)


class ApiKey(Struct, frozen=True):
    """An API key. The key itself is not stored: `digest` is its HMAC, and `displayed` is the part
    that lists show.

    Until `old_until`, `old_digest` is valid too.
    """

    id: str
    tenant: str
    name: str
    digest: bytes
    displayed: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    old_digest: bytes | None = None
    old_until: int = 0
    limits: KeyLimits = KeyLimits()
    caches: bool = False
    """Whether its requests use the cache, unless a request itself says otherwise."""
    role: Role = Role.USE
    tenant_budget: Budget | None = None
    """The budget that all keys of its tenant share. It is stored with the tenant, not with the
    key.
    """


class BucketState(Struct, frozen=True):
    """The remaining room in a key's limits, and whether one more request was granted.

    The limits per minute recover steadily. `requests_in` and `tokens_in` are the seconds until a
    limit is fully available again, so 60 means that nothing is left. They can exceed 60 if a
    response used more than it reserved.
    """

    is_granted: bool
    requests_in: float
    tokens_in: float
    tokens_today: int
    exhausted: ExhaustedBudget | None = None
    """The budget that has no room for the request, if the request was rejected for this reason."""


class UsageRecord(Struct, frozen=True):
    """The usage of a key at one time. Amounts are nano-units of the currency."""

    tenant: str
    key_id: str
    at: int
    requests: int
    input_tokens: int
    output_tokens: int
    taken: int = 0
    """Reserved tokens. The actual usage replaces them at the end."""
    model: str = ""
    cached_tokens: int = 0
    """The input tokens that the backend read from its prefix cache."""
    cost: int = 0
    is_budgeted: bool = False
    """Whether the budgets of the key and its tenant count this usage."""
    cost_taken: int = 0
    """The reserved cost on the day of `at`, which is released."""


UsageField = Literal["tenant", "key", "model", "day"]
"""The fields by which usage can be grouped."""


class UsageRow(Struct, frozen=True):
    """The sum of the usage of one group. A field is None if the request did not group by it."""

    tenant: str | None
    key_id: str | None
    name: str | None
    """The name of the key."""
    displayed: str | None
    """The part of the key that lists show."""
    model: str | None
    day: int | None
    """The first second of the day."""
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: int
    """In nano-units of the currency. Models without a price add nothing."""


class TenantSize(Struct, frozen=True):
    """The bytes that one tenant has stored."""

    tenant: str
    stored_bytes: int


class StorageUse(Struct, frozen=True):
    """The bytes that all tenants have stored.

    `tenants` is the number of tenants that have stored anything.
    """

    largest: Sequence[TenantSize]
    """The tenants that have stored the most, in descending order."""
    tenants: int
    stored_bytes: int
