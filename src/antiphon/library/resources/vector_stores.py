"""The vector stores of `AsyncAntiphon`."""

from typing import Unpack

from antiphon.library.call import ApiCall, path
from antiphon.library.calls import Calls
from antiphon.library.file_parameters import (
    NewVectorStore,
    SearchParameters,
    StorePageParameters,
    VectorStoreChange,
)
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import CallOptions, without_options
from antiphon.library.resources.vector_store_files import (
    AsyncVectorStoreFileBatches,
    AsyncVectorStoreFiles,
)
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import (
    VectorStore,
    VectorStoreDeleted,
    VectorStoreSearchResults,
)

ONE = "/vector_stores/{}"


class AsyncVectorStores:
    """Vector stores: create, change, list, delete and search them.

    `files` and `file_batches` are what is in them.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.files = AsyncVectorStoreFiles(calls)
        self.file_batches = AsyncVectorStoreFileBatches(calls)

    @spelled_out
    async def create(self, **parameters: Unpack[NewVectorStore]) -> VectorStore:
        """Create a vector store with its first files, which are ingested in the background.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         file = await client.files.create(file=("tides.txt", b"High tide is at noon."), purpose="assistants")
        ...         store = await client.vector_stores.create(name="tides")
        ...         attached = await client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
        ...         for found in await client.vector_stores.search(store.id, query="high tide"):
        ...             print(found.filename, found.content[0].text)
        >>> asyncio.run(main())
        tides.txt High tide is at noon.
        """  # noqa: E501 - a table, a diagram or an example
        call = ApiCall("POST", "/vector_stores", body=without_options(parameters))
        return await self._calls.send(VectorStore, call, Options.of(parameters))

    @spelled_out
    async def retrieve(self, vector_store_id: str, **options: Unpack[CallOptions]) -> VectorStore:
        """Return a vector store."""
        return await self._calls.send(
            VectorStore, ApiCall("GET", path(ONE, vector_store_id)), Options.of(options)
        )

    @spelled_out
    async def update(
        self, vector_store_id: str, **parameters: Unpack[VectorStoreChange]
    ) -> VectorStore:
        """Change a vector store."""
        call = ApiCall("POST", path(ONE, vector_store_id), body=without_options(parameters))
        return await self._calls.send(VectorStore, call, Options.of(parameters))

    @spelled_out
    def list(self, **parameters: Unpack[StorePageParameters]) -> AsyncPages[VectorStore]:
        """Return the vector stores, newest first unless `order` is `asc`."""
        return self._calls.pages(VectorStore, "/vector_stores", parameters)

    @spelled_out
    async def delete(
        self, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreDeleted:
        """Delete a vector store; its files remain."""
        call = ApiCall("DELETE", path(ONE, vector_store_id))
        return await self._calls.send(VectorStoreDeleted, call, Options.of(options))

    @spelled_out
    async def search(
        self, vector_store_id: str, **parameters: Unpack[SearchParameters]
    ) -> VectorStoreSearchResults:
        """Return the passages that match a query best. Iterate the result with `for`."""
        call = ApiCall(
            "POST", path(f"{ONE}/search", vector_store_id), body=without_options(parameters)
        )
        return await self._calls.send(VectorStoreSearchResults, call, Options.of(parameters))
