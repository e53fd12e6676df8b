"""Vector stores that answer from a table: for the tool's own tests, where no database is needed."""

from collections.abc import Mapping, Sequence

from antiphon.errors import ClientError
from antiphon.search.contract import ChunkHit, SearchRequest, SearchResults

STORE = "vs_" + "1" * 32


def hit(
    text: str,
    name: str = "tides.pdf",
    position: int = 0,
    *,
    score: float = 0.9,
    store_id: str = STORE,
) -> ChunkHit:
    """A chunk of a file, whose id follows from its name."""
    return ChunkHit(f"file-{name.partition('.')[0]}", name, store_id, score, {}, text, position)


class Shelves:
    """The stores of tenants: chunks by store id, all of which every search of the store finds, best
    first.
    """

    def __init__(self, *hits: ChunkHit, tenant: str = "", **stores: Sequence[ChunkHit]) -> None:
        self.stores: dict[str, Mapping[str, Sequence[ChunkHit]]] = {tenant: {STORE: hits, **stores}}
        self.failures: dict[str, str] = {}
        """Why a store fails, by its id."""
        self.by_keywords: dict[str, str] = {}
        """Why a store is searched by keywords only, by its id."""
        self.requested: list[SearchRequest] = []
        self.checked: list[tuple[str, Sequence[str]]] = []

    async def check(self, tenant: str, store_ids: Sequence[str]) -> None:
        self.checked.append((tenant, store_ids))
        for store_id in store_ids:
            if store_id not in self.stores.get(tenant, {}):
                raise ClientError(
                    f"No vector store found with id '{store_id}'.",
                    status=404,
                    param="vector_store_id",
                )

    async def search(self, request: SearchRequest) -> SearchResults:
        self.requested.append(request)
        found = [
            one
            for store_id in request.store_ids
            if store_id not in self.failures
            for one in self.stores[request.tenant][store_id]
        ]
        failures = {one: why for one, why in self.failures.items() if one in request.store_ids}
        best = sorted(found, key=lambda one: -one.score)[: request.most]
        return SearchResults(best, request.queries, failures, self.by_keywords)
