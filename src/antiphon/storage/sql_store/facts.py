"""Methods of the SQL stores for facts about responses."""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.storage.operations import facts, facts_detail, facts_page, figures
from antiphon.storage.records import Facts, FactsFamily, FactsPage, FactsQuery, FiguresFound, FiguresQuery
from antiphon.storage.records.facts import LATE, SUMMED
from antiphon.storage.sql_store.performer import Performer


def _summed(facts: Facts) -> Facts:
    """Return facts that add themselves to the sums, because `sum_up` only adds responses that began later."""
    return replace(facts, flags=facts.flags | SUMMED)


class SqlFacts(Performer):
    """See `ResponseFacts`."""

    async def put_facts(self, new: Sequence[Facts]) -> None:
        """See `Store.put_facts`."""
        late = self._now() * 1000 - LATE
        new = [one if one.began > late or one.ended is None else _summed(one) for one in new]
        tenants = {one.tenant for one in new}
        tenant = tenants.pop() if len(tenants) == 1 else None
        await self._write(lambda: facts.put_all(new), tenant)

    async def list_facts(self, tenant: str | None, query: FactsQuery) -> FactsPage:
        """See `Store.list_facts`."""
        return await self._read(lambda: facts_page.page(tenant, query), tenant)

    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        """See `Store.spans`."""
        return await self._read(lambda: facts.spans(tenant, response_id), tenant)

    async def bodies(self, tenant: str, response_id: str) -> bytes | None:
        """See `Store.bodies`."""
        return await self._read(lambda: facts.bodies(tenant, response_id), tenant)

    async def changed_facts(self, behind: int | None) -> tuple[int, Sequence[Facts]]:
        """See `Store.changed_facts`."""
        return await self._read(lambda: facts_detail.changed(behind))

    async def find_facts(self, tenant: str | None, response_id: str) -> FactsFamily | None:
        """See `Store.find_facts`."""
        return await self._read(lambda: facts_detail.family(tenant, response_id), tenant)

    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        """See `Store.figures`."""
        return await self._read(lambda: figures.figures(tenant, query), tenant)

    async def sum_up(self) -> bool:
        """See `Store.sum_up`."""
        return await self._write(lambda: figures.sum_up(self._now()))
