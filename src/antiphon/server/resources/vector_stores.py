"""`/v1/vector_stores`, their files, batches and search (specification of hosted tools, sections 3
and 4).
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway, JsonObject
from antiphon.protocol.validation.vector_stores import (
    BATCH,
    STORE,
    check_id,
    decode_attach_file,
    decode_create_batch,
    decode_create_vector_store,
    decode_search,
    decode_store_files_query,
    decode_update_store_file,
    decode_update_vector_store,
    decode_vector_stores_query,
)
from antiphon.protocol.vector_stores import (
    AttachFile,
    CreateFileBatch,
    CreateVectorStore,
    SearchVectorStore,
    StoreFilesQuery,
    UpdateStoreFile,
    UpdateVectorStore,
    VectorStoresQuery,
)
from antiphon.server.admission import acquire, decoded
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ONE = "/v1/vector_stores/{vector_store_id}"

IN_PROGRESS = [(b"openai-poll-after-ms", b"250")]
"""Header of a file that is being ingested: the official SDKs poll again after this time, else after
a second.
"""

BY_KEYWORDS = [(b"antiphon-search", b"keywords")]
"""Header of results without vectors, because the embedding model does not answer."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    stores = _Stores(gateway)
    files = _Files(gateway)
    batches = _Batches(gateway)
    file = f"{ONE}/files/{{file_id}}"
    batch = f"{ONE}/file_batches/{{batch_id}}"
    return {
        "/v1/vector_stores": {"GET": stores.list, "POST": stores.create},
        ONE: {"GET": stores.retrieve, "POST": stores.update, "DELETE": stores.delete},
        f"{ONE}/search": {"POST": stores.search},
        f"{ONE}/reindex": {"POST": stores.reindex},
        f"{ONE}/files": {"GET": files.list, "POST": files.attach},
        file: {"GET": files.retrieve, "POST": files.update, "DELETE": files.detach},
        f"{file}/content": {"GET": files.content},
        f"{ONE}/file_batches": {"POST": batches.create},
        batch: {"GET": batches.retrieve},
        f"{batch}/cancel": {"POST": batches.cancel},
        f"{batch}/files": {"GET": batches.list_files},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    file = f"{ONE}/files/{{file_id}}"
    batch = f"{ONE}/file_batches/{{batch_id}}"
    return (
        Described("post", "/v1/vector_stores", "Create a vector store", CreateVectorStore),
        Described("get", "/v1/vector_stores", "List vector stores", query=VectorStoresQuery),
        Described("get", ONE, "Get a vector store"),
        Described("post", ONE, "Update a vector store", UpdateVectorStore),
        Described("delete", ONE, "Delete a vector store"),
        Described("post", f"{ONE}/search", "Search a vector store", SearchVectorStore),
        Described("post", f"{ONE}/reindex", "Ingest all files of a vector store again"),
        Described("post", f"{ONE}/files", "Attach a file", AttachFile),
        Described("get", f"{ONE}/files", "List the files of a vector store", query=StoreFilesQuery),
        Described("get", file, "Get a file in a vector store"),
        Described("post", file, "Replace its attributes", UpdateStoreFile),
        Described("delete", file, "Remove a file from a vector store"),
        Described("get", f"{file}/content", "Get its text"),
        Described("post", f"{ONE}/file_batches", "Attach files together", CreateFileBatch),
        Described("get", batch, "Get a batch"),
        Described("post", f"{batch}/cancel", "Cancel a batch"),
        Described("get", f"{batch}/files", "List the files of a batch", query=StoreFilesQuery),
    )


class _Part:
    """The base of the classes below."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._stores = gateway.vector_stores
        self._files = gateway.vector_store_files


class _Stores(_Part):
    async def list(self, http: HttpRequest) -> Reply:
        query = decode_vector_stores_query(http.query())
        await acquire(self._gateway, http, None)
        found = await self._stores.list(http.tenant, query)
        return Reply(found)

    async def create(self, http: HttpRequest) -> Reply:
        request = await decoded(self._gateway, http, await http.body(), decode_create_vector_store)
        return Reply(await self._stores.create(http.tenant, request))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(await self._stores.retrieve(http.tenant, _id(http)))

    async def update(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        request = await decoded(self._gateway, http, await http.body(), decode_update_vector_store)
        return Reply(await self._stores.update(http.tenant, store_id, request))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._stores.delete(http.tenant, _id(http)))

    async def search(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        request = await decoded(self._gateway, http, await http.body(), decode_search)
        await acquire(self._gateway, http, None)
        found, is_by_keywords = await self._stores.search(http.tenant, store_id, request)
        return Reply(found, BY_KEYWORDS if is_by_keywords else [])

    async def reindex(self, http: HttpRequest) -> Reply:
        return Reply(await self._stores.reindex(http.tenant, _id(http)))


class _Files(_Part):
    async def list(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        query = decode_store_files_query(http.query())
        await acquire(self._gateway, http, None)
        found = await self._files.list(http.tenant, store_id, query)
        return Reply(found)

    async def attach(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        request = await decoded(self._gateway, http, await http.body(), decode_attach_file)
        return Reply(await self._files.attach(http.tenant, store_id, request))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return _polled(
            await self._files.retrieve(http.tenant, _id(http), http.path_params["file_id"])
        )

    async def update(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        request = await decoded(self._gateway, http, await http.body(), decode_update_store_file)
        return Reply(
            await self._files.update(http.tenant, store_id, http.path_params["file_id"], request)
        )

    async def detach(self, http: HttpRequest) -> Reply:
        return Reply(await self._files.detach(http.tenant, _id(http), http.path_params["file_id"]))

    async def content(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        await acquire(self._gateway, http, None)
        found = await self._files.content(http.tenant, store_id, http.path_params["file_id"])
        return Reply(found)


class _Batches(_Part):
    async def create(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        request = await decoded(self._gateway, http, await http.body(), decode_create_batch)
        return Reply(await self._files.create_batch(http.tenant, store_id, request))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return _polled(await self._files.retrieve_batch(http.tenant, _id(http), _batch(http)))

    async def cancel(self, http: HttpRequest) -> Reply:
        return Reply(await self._files.cancel_batch(http.tenant, _id(http), _batch(http)))

    async def list_files(self, http: HttpRequest) -> Reply:
        store_id = _id(http)
        batch_id = _batch(http)
        query = decode_store_files_query(http.query())
        await acquire(self._gateway, http, None)
        found = await self._files.list(http.tenant, store_id, query, batch_id)
        return Reply(found)


def _polled(value: JsonObject) -> Reply:
    return Reply(value, IN_PROGRESS if value["status"] == "in_progress" else [])


def _id(http: HttpRequest) -> str:
    return check_id(http.path_params["vector_store_id"], "vector_store_id", STORE)


def _batch(http: HttpRequest) -> str:
    return check_id(http.path_params["batch_id"], "batch_id", BATCH)
