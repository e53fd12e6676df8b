"""The part of the contract that keeps what belongs to tenants beside responses: API keys, answers, webhooks, sizes."""

from collections.abc import Collection, Sequence
from typing import Protocol

from antiphon.storage.records import (
    ApiKey,
    BucketState,
    Delivery,
    DueDelivery,
    Limits,
    MoneyClaim,
    StorageUse,
    StoredAnswer,
    TenantBudget,
    UsageField,
    UsageRecord,
    UsageRow,
    WebhookEndpoint,
)


class ApiKeys(Protocol):
    """Who may ask, for what, and what it came to."""

    async def put_api_key(self, key: ApiKey) -> None:
        """Keep a key; the same id again replaces it."""
        ...

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest; None if it is unknown, revoked or expired."""
        ...

    async def api_keys(self) -> list[ApiKey]:
        """Return every key of every tenant, newest first, those that are revoked too."""
        ...

    async def has_api_keys(self) -> bool:
        """Whether a key was ever made."""
        ...

    async def take(self, key_id: str, limits: Limits, tokens: int, claim: MoneyClaim | None = None) -> BucketState:
        """Take one request and so many tokens out of the key's limits, if all of them have room; return what stands.

        A `claim` is taken out of the budgets that it names in the same step. However many ask at once, in however many
        processes, no more than the limits and the budgets allow are granted. What is larger than a whole limit or a
        whole budget counts as all of it.
        """
        ...

    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        """Count what was used, and settle what was taken in advance."""
        ...

    async def usage(
        self,
        tenant: str | None,
        begin: int,
        end: int,
        by: Collection[UsageField] = ("key", "day"),
        most: int | None = None,
    ) -> list[UsageRow]:
        """Return what was used on the days (UTC) that begin from `begin` to before `end`, summed up, in order.

        Without a `tenant`, of all tenants. Of more than `most` rows, return those with the most requests.
        """
        ...

    async def put_tenant_budget(self, budget: TenantBudget) -> None:
        """Keep the budget of a tenant; one without a limit ends it."""
        ...

    async def tenant_budgets(self) -> list[TenantBudget]:
        """Return the budgets of all tenants, by name."""
        ...


class Sizes(Protocol):
    """How much each tenant has stored."""

    async def stored_bytes(self, tenant: str) -> int:
        """Return the bytes that a tenant has stored.

        These are responses, conversations, their items, event logs, jobs with their requests and notes, and replies
        kept for an `Idempotency-Key`.

        Exact at any time, and read at once: what saves, replaces, deletes or purges them counts in the same step.
        """
        ...

    async def storage_use(self, limit: int) -> StorageUse:
        """Return the bytes that all tenants have stored, and those of the `limit` largest, at least one.

        Exact, and of one moment. It reads the sums of all tenants, so it takes longer the more there are.
        """
        ...


class Answers(Protocol):
    """Cached answers of models. An expired answer is unknown."""

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
        """Return deliveries that are due: the first of each tenant, then the second of each, and so on.

        So the deliveries of one tenant, however many, hide those of no other.
        """
        ...

    async def claim_delivery(self, delivery_id: str, hold: int) -> Delivery | None:
        """Claim a delivery for `hold` seconds, exclusively; None if it is not due."""
        ...

    async def delivered(self, delivery_id: str) -> None:
        """Forget a delivery: it was received."""
        ...

    async def postpone(self, delivery_id: str, due_at: int | None, error: str) -> None:
        """Have a delivery tried again at `due_at`; None gives it up. `error` says what went wrong."""
        ...

    async def retry_delivery(self, delivery_id: str) -> bool:
        """Schedule a waiting or failed delivery for now, as if it were the first attempt.

        Return False for an unknown one.
        """
        ...

    async def retry_failed_deliveries(self) -> int:
        """Schedule every failed delivery for now, as if it were the first attempt; return how many."""
        ...

    async def deliveries(self) -> list[Delivery]:
        """Return every waiting or failed delivery, oldest first."""
        ...

    async def list_deliveries(
        self, tenant: str | None, limit: int, after: str = "", *, is_failed: bool | None = None
    ) -> list[Delivery]:
        """Return at most `limit` deliveries of a tenant, or of all tenants, newest first, those behind `after`.

        `is_failed` selects the deliveries that have failed, or those that wait. `after` is the id of a delivery; the
        delivery may have been deleted.
        """
        ...


class Secrets(Protocol):
    """Secrets that the servers of one store share."""

    async def secret(self, name: str, fresh: bytes) -> bytes:
        """Return the secret with that name; if it does not exist yet, store `fresh` as the secret."""
        ...
