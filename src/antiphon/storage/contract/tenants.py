"""The store contract for other data of tenants: API keys, cached answers, webhooks, secrets and sizes."""

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
    """API keys, their limits, and their usage."""

    async def put_api_key(self, key: ApiKey) -> None:
        """Store or replace a key."""
        ...

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest, or None if it is unknown, revoked or expired."""
        ...

    async def api_keys(self) -> list[ApiKey]:
        """Return all keys of all tenants, newest first, including revoked keys."""
        ...

    async def has_api_keys(self) -> bool:
        """Return whether a key was ever created."""
        ...

    async def take(self, key_id: str, limits: Limits, tokens: int, claim: MoneyClaim | None = None) -> BucketState:
        """Take one request and these tokens out of the key's limits, if all limits have room; return the limits' state.

        A `claim` is taken out of its budgets in the same transaction. However many requests and processes compete, the
        limits and the budgets are never exceeded. An amount that is larger than a whole limit or budget counts as all
        of it.
        """
        ...

    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        """Record the usage, and settle the reservation."""
        ...

    async def usage(
        self,
        tenant: str | None,
        begin: int,
        end: int,
        by: Collection[UsageField] = ("key", "day"),
        most: int | None = None,
    ) -> list[UsageRow]:
        """Return the summed usage of the days (UTC) that start from `begin` up to but excluding `end`, in order.

        Without a `tenant`, include all tenants. If there are more than `most` rows, return those with the most
        requests.
        """
        ...

    async def put_tenant_budget(self, budget: TenantBudget) -> None:
        """Store the budget of a tenant. A budget without limits deletes it."""
        ...

    async def tenant_budgets(self) -> list[TenantBudget]:
        """Return the budgets of all tenants, by name."""
        ...


class Sizes(Protocol):
    """The storage that each tenant uses."""

    async def stored_bytes(self, tenant: str) -> int:
        """Return the number of bytes that a tenant has stored.

        Counted are responses, conversations, their items, event logs, jobs with their requests and records of running
        calls, and replies stored for an `Idempotency-Key`.

        The number is always exact, and read in constant time: each transaction that changes the data also updates it.
        """
        ...

    async def storage_use(self, limit: int) -> StorageUse:
        """Return the bytes that all tenants have stored, and the `limit` largest tenants (at least one).

        The numbers are exact and consistent. The time grows with the number of tenants.
        """
        ...


class Answers(Protocol):
    """Cached answers of models. An expired answer is treated as unknown."""

    async def keep_answer(self, answer: StoredAnswer) -> None:
        """Store an answer. It replaces the tenant's earlier answer with this key."""
        ...

    async def find_answer(self, tenant: str, key: bytes) -> bytes | None:
        """Return the body of an answer and record the use, or return None."""
        ...

    async def answers_size(self) -> int:
        """Return the bytes that the answers of all tenants use."""
        ...

    async def trim_answers(self, limit: int) -> int:
        """Delete the least recently used answers until the rest uses at most `limit` bytes; return how many."""
        ...


class Webhooks(Protocol):
    """Webhook endpoints, and the outbox of pending deliveries."""

    async def put_endpoint(self, endpoint: WebhookEndpoint, most: int = 0) -> bool:
        """Store or replace an endpoint.

        Return False, and store nothing, if the tenant has `most` other endpoints; 0 means no limit.
        """
        ...

    async def load_endpoint(self, tenant: str, endpoint_id: str) -> WebhookEndpoint | None:
        """Return an endpoint, or None."""
        ...

    async def endpoints(self, tenant: str) -> list[WebhookEndpoint]:
        """Return the tenant's endpoints, newest first."""
        ...

    async def delete_endpoint(self, tenant: str, endpoint_id: str) -> bool:
        """Delete an endpoint and its pending deliveries; return False if it is unknown."""
        ...

    async def due(self, limit: int) -> list[DueDelivery]:
        """Return due deliveries: the first of each tenant, then the second of each, and so on.

        So one tenant with many deliveries cannot delay the deliveries of other tenants.
        """
        ...

    async def claim_delivery(self, delivery_id: str, hold: int) -> Delivery | None:
        """Claim a delivery exclusively for `hold` seconds, or return None if it is not due."""
        ...

    async def delivered(self, delivery_id: str) -> None:
        """Delete a delivery that was received."""
        ...

    async def postpone(self, delivery_id: str, due_at: int | None, error: str) -> None:
        """Schedule the next attempt for `due_at`; None marks the delivery as failed. `error` describes the failure."""
        ...

    async def retry_delivery(self, delivery_id: str) -> bool:
        """Schedule a waiting or failed delivery for now, and restart its attempts.

        Return False if the delivery is unknown.
        """
        ...

    async def retry_failed_deliveries(self) -> int:
        """Schedule every failed delivery for now, and restart its attempts; return their number."""
        ...

    async def deliveries(self) -> list[Delivery]:
        """Return all waiting and failed deliveries, oldest first."""
        ...

    async def list_deliveries(
        self, tenant: str | None, limit: int, after: str = "", *, is_failed: bool | None = None
    ) -> list[Delivery]:
        """Return up to `limit` deliveries of one tenant, or of all tenants, newest first, starting after `after`.

        `is_failed` selects either the failed or the waiting deliveries. `after` is the id of a delivery, which may have
        been deleted.
        """
        ...


class Secrets(Protocol):
    """Secrets that the servers of one store share."""

    async def secret(self, name: str, fresh: bytes) -> bytes:
        """Return the secret with this name. If it does not exist, store `fresh` and return it."""
        ...
