"""Methods of the SQL stores for the other data of tenants."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from antiphon.storage.operations import answers, api_keys, budgets, secrets, sizes, webhooks
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
from antiphon.storage.sql_store.performer import Performer

USED_EVERY = 60
"""Seconds after a recorded use of an answer during which further uses are not recorded."""


class SqlTenants(Performer):
    """See `ApiKeys`, `Sizes`, `Answers`, `Webhooks` and `Secrets`."""

    async def stored_bytes(self, tenant: str) -> int:
        """See `Store.stored_bytes`."""
        return await self._read(lambda: sizes.stored_bytes(tenant), tenant)

    async def storage_use(self, limit: int) -> StorageUse:
        """See `Store.storage_use`."""
        return await self._read(lambda: sizes.storage_use(limit))

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
        return await self._free(lambda: webhooks.delete(tenant, endpoint_id), tenant)

    async def due(self, limit: int) -> list[DueDelivery]:
        """See `Store.due`."""
        # Reads every due delivery, so it must not run where SQLite's reads run: on the event loop.
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

    async def retry_delivery(self, delivery_id: str) -> bool:
        """See `Store.retry_delivery`."""
        return await self._write(lambda: webhooks.retry(delivery_id, self._now()))

    async def retry_failed_deliveries(self) -> int:
        """See `Store.retry_failed_deliveries`."""
        return await self._write(lambda: webhooks.retry_failed(self._now()))

    async def deliveries(self) -> list[Delivery]:
        """See `Store.deliveries`."""
        return await self._read(webhooks.deliveries)

    async def list_deliveries(
        self, tenant: str | None, limit: int, after: str = "", *, is_failed: bool | None = None
    ) -> list[Delivery]:
        """See `Store.list_deliveries`."""
        return await self._read(lambda: webhooks.page(tenant, is_failed, limit, after), tenant)

    async def secret(self, name: str, fresh: bytes) -> bytes:
        """See `Store.secret`."""
        return await self._free(lambda: secrets.agree(name, fresh))

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

    async def put_api_key(self, key: ApiKey) -> None:
        """See `Store.put_api_key`."""
        await self._free(lambda: api_keys.put(key))

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        """See `Store.find_api_key`."""
        return await self._read(lambda: api_keys.find(digest, self._now()))

    async def api_keys(self) -> list[ApiKey]:
        """See `Store.api_keys`."""
        return await self._read(api_keys.every)

    async def has_api_keys(self) -> bool:
        """See `Store.has_api_keys`."""
        return await self._read(api_keys.any_at_all)

    async def take(self, key_id: str, limits: Limits, tokens: int, claim: MoneyClaim | None = None) -> BucketState:
        """See `Store.take`."""
        return await self._write(lambda: api_keys.take(key_id, limits, tokens, self._clock() + self._correction, claim))

    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        """See `Store.charge`."""
        await self._write(lambda: api_keys.charge(uses, self._clock() + self._correction))

    async def usage(
        self,
        tenant: str | None,
        begin: int,
        end: int,
        by: Collection[UsageField] = ("key", "day"),
        most: int | None = None,
    ) -> list[UsageRow]:
        """See `Store.usage`."""
        return await self._read(lambda: api_keys.usage(tenant, begin, end, by, most), tenant)

    async def put_tenant_budget(self, budget: TenantBudget) -> None:
        """See `Store.put_tenant_budget`."""
        await self._free(lambda: budgets.put_tenant(budget))

    async def tenant_budgets(self) -> list[TenantBudget]:
        """See `Store.tenant_budgets`."""
        return await self._read(budgets.of_tenants)
