"""The one vector store that the readings of searches fill and search."""

from collections.abc import Callable, Sequence

from antiphon.search.contract import QueryEmbeddings
from antiphon.search.searching import Searching, search_turns
from antiphon.sharing.offload import Offload
from antiphon.storage.contract import Store
from antiphon.storage.records import VectorStore

TENANT, STORE = "t0", "vs_bench"


def searching_of(store: Store, embeddings: QueryEmbeddings, offload: Offload, now: Callable[[], float]) -> Searching:
    """Return what searches the vector store and embeds queries by this model."""
    return Searching(store, _Known(embeddings.model), lambda _: embeddings, search_turns(), offload, now)


class _Known:
    def __init__(self, model: str) -> None:
        self._model = model

    async def find_vector_store(self, tenant: str, store_id: str) -> VectorStore | None:
        return VectorStore(store_id, tenant, 0, embedding_model=self._model)

    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        """Nothing is written."""
