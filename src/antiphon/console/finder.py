"""What the console's line of search offers: what an id leads to, and completions of filters."""

from antiphon.console.reader import ConsoleReader
from antiphon.console.summaries import KeyNames
from antiphon.errors import NotFoundError
from antiphon.ids import response_id_of
from antiphon.objects.pages import JsonObject
from antiphon.query.completion import counted_words, names, read_prefix, values
from antiphon.query.ids import created_ms, kind_of
from antiphon.storage.operations import facts_values, finding
from antiphon.storage.records.found import FoundObject, FoundObjects
from antiphon.storage.store import Store

COUNTED = facts_values.COLUMNS.keys() - {"id"}
"""Filters with values that are counted."""


class Finder:
    """Finds objects and values of filters. A tenant of None means all tenants."""

    def __init__(self, store: Store, reader: ConsoleReader) -> None:
        self._store = store
        self._reader = reader
        self._names = KeyNames(store)

    async def find(self, tenant: str | None, id_: str) -> JsonObject:
        """Return what an id leads to; nothing if it is unknown."""
        search = (
            await self._response(tenant, id_)
            if kind_of(id_) == "response"
            else await self._store.read(finding.find, tenant, id_)
        )
        return {
            "object": "found",
            "data": [
                {"kind": one.kind, "id": one.id, "tenant": one.tenant, "part": one.part}
                for one in search.found
            ],
            "created_ms": created_ms(id_),
            "searched_since_ms": search.searched_since,
        }

    async def suggestions(self, tenant: str | None, term: str, since: int) -> JsonObject:
        """Return completions of a term, with counts among the newest responses since this time
        (seconds).
        """
        prefix = read_prefix(term)
        if not prefix.name:
            found = names(prefix)
        else:
            found = values(prefix, await self._counts(tenant, prefix.name, since * 1000))
        data = [{"text": text, "count": count} for text, count in found]
        return {"object": "list", "data": data}

    async def _response(self, tenant: str | None, id_: str) -> FoundObjects:
        """Return a stored or running response by its id, or by that of its request."""
        if id_.startswith("req_"):
            id_ = response_id_of(id_)
        try:
            facts = await self._reader.facts(tenant, id_)
        except NotFoundError:
            return FoundObjects()
        return FoundObjects([FoundObject("response", facts.id, facts.tenant)])

    async def _counts(self, tenant: str | None, field: str, since: int) -> dict[str, int]:
        if field not in COUNTED:
            return {}
        found = await self._store.read(facts_values.values, tenant, field, since)
        if field == "tool":
            return counted_words(found)
        if field == "key":
            known = await self._names.load([key_id for key_id, _ in found])
            found = [(known.get(key_id) or key_id, count) for key_id, count in found]
        counts: dict[str, int] = {}
        for value, count in found:
            counts[value] = counts.get(value, 0) + count
        return counts
