"""The one vector store that the readings of searches fill and search."""

from typing import cast

from antiphon.retrieval.searching import Searching, search_turns
from antiphon.search.contract import QueryEmbeddings
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import StoredVectorStore
from antiphon.storage.store import Store

TENANT = "t0"
STORE = "vs_bench"


def searching_of(store: Store, embeddings: QueryEmbeddings, offload: Offload) -> Searching:
    """Return what searches the vector store and embeds queries by this model."""
    return Searching(
        store,
        cast("Store", _Known(embeddings.model)),
        lambda _: embeddings,
        search_turns(),
        offload,
    )


class _Known:
    """A store with one vector store, which records no use."""

    def __init__(self, model: str) -> None:
        self._model = model

    async def read(self, operation: object, tenant: str, store_id: str) -> StoredVectorStore | None:
        assert operation is vector_stores.find
        return StoredVectorStore(store_id, tenant, 0, embedding_model=self._model)

    async def write(self, operation: object, *value: object) -> None:
        """Nothing is written."""
