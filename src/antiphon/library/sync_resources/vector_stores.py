"""The vector stores of `Antiphon`.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.file_parameters import (
    NewVectorStore,
    SearchParameters,
    StorePageParameters,
    VectorStoreChange,
)
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.vector_stores import AsyncVectorStores
from antiphon.library.signatures import spelled_out
from antiphon.library.sync_resources.vector_store_files import (
    VectorStoreFileBatches,
    VectorStoreFiles,
)
from antiphon.protocol.hosted_results import (
    VectorStore,
    VectorStoreDeleted,
    VectorStoreSearchResults,
)


class VectorStores:
    """Vector stores: create, change, list, delete and search them.

    `files` and `file_batches` are what is in them.
    """

    def __init__(self, resource: AsyncVectorStores, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner
        self.files = VectorStoreFiles(resource.files, owner)
        self.file_batches = VectorStoreFileBatches(resource.file_batches, owner)

    @spelled_out
    def create(self, **parameters: Unpack[NewVectorStore]) -> VectorStore:
        """Create a vector store with its first files, which are ingested in the background.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     file = client.files.create(file=("tides.txt", b"High tide is at noon."), purpose="assistants")
        ...     store = client.vector_stores.create(name="tides")
        ...     attached = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
        ...     for found in client.vector_stores.search(store.id, query="high tide"):
        ...         print(found.filename, found.content[0].text)
        tides.txt High tide is at noon.
        """  # noqa: E501 - a table, a diagram or an example
        return self._owner.run(self._resource.create(**parameters))

    @spelled_out
    def retrieve(self, vector_store_id: str, **options: Unpack[CallOptions]) -> VectorStore:
        """Return a vector store."""
        return self._owner.run(self._resource.retrieve(vector_store_id, **options))

    @spelled_out
    def update(self, vector_store_id: str, **parameters: Unpack[VectorStoreChange]) -> VectorStore:
        """Change a vector store."""
        return self._owner.run(self._resource.update(vector_store_id, **parameters))

    @spelled_out
    def list(self, **parameters: Unpack[StorePageParameters]) -> Pages[VectorStore]:
        """Return the vector stores, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(**parameters), self._owner)

    @spelled_out
    def delete(self, vector_store_id: str, **options: Unpack[CallOptions]) -> VectorStoreDeleted:
        """Delete a vector store; its files remain."""
        return self._owner.run(self._resource.delete(vector_store_id, **options))

    @spelled_out
    def search(
        self, vector_store_id: str, **parameters: Unpack[SearchParameters]
    ) -> VectorStoreSearchResults:
        """Return the passages that match a query best. Iterate the result with `for`."""
        return self._owner.run(self._resource.search(vector_store_id, **parameters))
