"""Facts about responses, as acts."""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.storage.operations import facts, facts_page
from antiphon.storage.records import Facts, FactsPage, FactsQuery
from antiphon.storage.sql_store.performer import Performer


class SqlFacts(Performer):
    """See `ResponseFacts`."""

    async def put_facts(self, new: Sequence[Facts]) -> None:
        """See `Store.put_facts`."""
        if shift := int(self._shift):
            new = [replace(one, expires_at=one.expires_at + shift) for one in new]
        tenants = {one.tenant for one in new}
        tenant = tenants.pop() if len(tenants) == 1 else None
        await self._write(lambda: facts.put_all(new), tenant)

    async def list_facts(self, tenant: str, query: FactsQuery) -> FactsPage:
        """See `Store.list_facts`."""
        return await self._read(lambda: facts_page.page(tenant, query, self._now()), tenant)

    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        """See `Store.spans`."""
        return await self._read(lambda: facts.spans(tenant, response_id, self._now()), tenant)
