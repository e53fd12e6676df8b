"""The files in the vector stores of `AsyncAntiphon`, and the batches in which they are attached."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar, Unpack

from antiphon.library.call import ApiCall, path
from antiphon.library.calls import Calls
from antiphon.library.file_parameters import (
    AttachedFileOptions,
    Attributes,
    NewBatch,
    NewStoreFile,
    StoreFilePageParameters,
)
from antiphon.library.forms import FileInput, MultipartForm
from antiphon.library.options import Options, pause_of
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import CallOptions, without_options
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import (
    FileObject,
    VectorStoreFile,
    VectorStoreFileBatch,
    VectorStoreFileContent,
    VectorStoreFileDeleted,
)

P = TypeVar("P", VectorStoreFile, VectorStoreFileBatch)

FILES = "/vector_stores/{}/files"
BATCHES = "/vector_stores/{}/file_batches"


async def upload(calls: Calls, file: FileInput, options: Options) -> str:
    """Upload a file for a vector store; return its id."""
    form = MultipartForm({"purpose": "assistants"}, [("file", file)])
    return (await calls.send(FileObject, ApiCall("POST", "/files", body=form), options)).id


async def ended(calls: Calls, ingested: P, call: ApiCall, options: Options, pause: float) -> P:
    """Repeat a call, every `pause` seconds, until this file or batch is no longer in progress;
    return it.
    """
    while ingested.status == "in_progress":
        await asyncio.sleep(pause)
        ingested = await calls.send(type(ingested), call, options)
    return ingested


class AsyncVectorStoreFiles:
    """The files in vector stores: attach, change, list, read and remove them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(
        self, vector_store_id: str, **parameters: Unpack[NewStoreFile]
    ) -> VectorStoreFile:
        """Attach a file, which is ingested in the background."""
        call = ApiCall("POST", path(FILES, vector_store_id), body=without_options(parameters))
        return await self._calls.send(VectorStoreFile, call, Options.of(parameters))

    @spelled_out
    async def create_and_poll(
        self,
        file_id: str,
        *,
        vector_store_id: str,
        poll_interval_ms: int | None = None,
        **parameters: Unpack[AttachedFileOptions],
    ) -> VectorStoreFile:
        """Attach a file, and wait until it is ingested.

        `status` and `last_error` say whether that succeeded.
        """
        pause = pause_of(poll_interval_ms)
        body = {"file_id": file_id, **without_options(parameters)}
        options = Options.of(parameters)
        call = ApiCall("POST", path(FILES, vector_store_id), body=body)
        attached = await self._calls.send(VectorStoreFile, call, options)
        return await self._polled(attached, options, pause)

    @spelled_out
    async def upload(
        self, *, vector_store_id: str, file: FileInput, **parameters: Unpack[AttachedFileOptions]
    ) -> VectorStoreFile:
        """Upload a file and attach it. See `files.create` for what a file can be."""
        options = Options.of(parameters)
        body = {"file_id": await upload(self._calls, file, options), **without_options(parameters)}
        return await self._calls.send(
            VectorStoreFile, ApiCall("POST", path(FILES, vector_store_id), body=body), options
        )

    @spelled_out
    async def upload_and_poll(
        self,
        *,
        vector_store_id: str,
        file: FileInput,
        poll_interval_ms: int | None = None,
        **parameters: Unpack[AttachedFileOptions],
    ) -> VectorStoreFile:
        """Upload a file, attach it, and wait until it is ingested."""
        pause = pause_of(poll_interval_ms)
        attached = await self.upload(vector_store_id=vector_store_id, file=file, **parameters)
        return await self._polled(attached, Options.of(parameters), pause)

    @spelled_out
    async def poll(
        self,
        file_id: str,
        *,
        vector_store_id: str,
        poll_interval_ms: int | None = None,
        **options: Unpack[CallOptions],
    ) -> VectorStoreFile:
        """Wait until a file is ingested, or failed; return it.

        `timeout` limits each request, and not the wait.
        """
        pause = pause_of(poll_interval_ms)
        found = await self.retrieve(file_id, vector_store_id=vector_store_id, **options)
        return await self._polled(found, Options.of(options), pause)

    @spelled_out
    async def retrieve(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFile:
        """Return a file in a vector store."""
        call = ApiCall("GET", path(f"{FILES}/{{}}", vector_store_id, file_id))
        return await self._calls.send(VectorStoreFile, call, Options.of(options))

    @spelled_out
    async def update(
        self,
        file_id: str,
        *,
        vector_store_id: str,
        attributes: Attributes | None,
        **options: Unpack[CallOptions],
    ) -> VectorStoreFile:
        """Replace the attributes of a file; None removes them all."""
        call = ApiCall(
            "POST", path(f"{FILES}/{{}}", vector_store_id, file_id), body={"attributes": attributes}
        )
        return await self._calls.send(VectorStoreFile, call, Options.of(options))

    @spelled_out
    def list(
        self, vector_store_id: str, **parameters: Unpack[StoreFilePageParameters]
    ) -> AsyncPages[VectorStoreFile]:
        """Return the files of a vector store, newest first unless `order` is `asc`."""
        return self._calls.pages(VectorStoreFile, path(FILES, vector_store_id), parameters)

    @spelled_out
    async def delete(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileDeleted:
        """Remove a file from a vector store; the file itself remains."""
        call = ApiCall("DELETE", path(f"{FILES}/{{}}", vector_store_id, file_id))
        return await self._calls.send(VectorStoreFileDeleted, call, Options.of(options))

    @spelled_out
    async def content(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileContent:
        """Return the text of a file, as it is searched."""
        call = ApiCall("GET", path(f"{FILES}/{{}}/content", vector_store_id, file_id))
        return await self._calls.send(VectorStoreFileContent, call, Options.of(options))

    async def _polled(
        self, file: VectorStoreFile, options: Options, pause: float
    ) -> VectorStoreFile:
        call = ApiCall("GET", path(f"{FILES}/{{}}", file.vector_store_id, file.id))
        return await ended(self._calls, file, call, options, pause)


class AsyncVectorStoreFileBatches:
    """Files that are attached to a vector store together."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(
        self, vector_store_id: str, **parameters: Unpack[NewBatch]
    ) -> VectorStoreFileBatch:
        """Attach files, which are ingested in the background."""
        call = ApiCall("POST", path(BATCHES, vector_store_id), body=without_options(parameters))
        return await self._calls.send(VectorStoreFileBatch, call, Options.of(parameters))

    @spelled_out
    async def create_and_poll(
        self,
        vector_store_id: str,
        *,
        poll_interval_ms: int | None = None,
        **parameters: Unpack[NewBatch],
    ) -> VectorStoreFileBatch:
        """Attach files, and wait until all are ingested. `file_counts` says how many failed."""
        pause = pause_of(poll_interval_ms)
        batch = await self.create(vector_store_id, **parameters)
        return await self._polled(batch, Options.of(parameters), pause)

    @spelled_out
    async def upload_and_poll(
        self,
        vector_store_id: str,
        *,
        files: Sequence[FileInput],
        file_ids: Sequence[str] = (),
        poll_interval_ms: int | None = None,
        **parameters: Unpack[AttachedFileOptions],
    ) -> VectorStoreFileBatch:
        """Upload files, attach them with those of `file_ids`, and wait until all are ingested."""
        pause = pause_of(poll_interval_ms)
        options = Options.of(parameters)
        uploaded = [await upload(self._calls, file, options) for file in files]
        body = {"file_ids": [*file_ids, *uploaded], **without_options(parameters)}
        call = ApiCall("POST", path(BATCHES, vector_store_id), body=body)
        batch = await self._calls.send(VectorStoreFileBatch, call, options)
        return await self._polled(batch, options, pause)

    @spelled_out
    async def poll(
        self,
        batch_id: str,
        *,
        vector_store_id: str,
        poll_interval_ms: int | None = None,
        **options: Unpack[CallOptions],
    ) -> VectorStoreFileBatch:
        """Wait until all files of a batch are ingested, or failed; return it.

        `timeout` limits each request.
        """
        pause = pause_of(poll_interval_ms)
        found = await self.retrieve(batch_id, vector_store_id=vector_store_id, **options)
        return await self._polled(found, Options.of(options), pause)

    @spelled_out
    async def retrieve(
        self, batch_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileBatch:
        """Return a batch."""
        call = ApiCall("GET", path(f"{BATCHES}/{{}}", vector_store_id, batch_id))
        return await self._calls.send(VectorStoreFileBatch, call, Options.of(options))

    @spelled_out
    async def cancel(
        self, batch_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileBatch:
        """Cancel the files of a batch that are not ingested yet."""
        call = ApiCall("POST", path(f"{BATCHES}/{{}}/cancel", vector_store_id, batch_id))
        return await self._calls.send(VectorStoreFileBatch, call, Options.of(options))

    @spelled_out
    def list_files(
        self, batch_id: str, *, vector_store_id: str, **parameters: Unpack[StoreFilePageParameters]
    ) -> AsyncPages[VectorStoreFile]:
        """Return the files of a batch, newest first unless `order` is `asc`."""
        pattern = path(f"{BATCHES}/{{}}/files", vector_store_id, batch_id)
        return self._calls.pages(VectorStoreFile, pattern, parameters)

    async def _polled(
        self, batch: VectorStoreFileBatch, options: Options, pause: float
    ) -> VectorStoreFileBatch:
        call = ApiCall("GET", path(f"{BATCHES}/{{}}", batch.vector_store_id, batch.id))
        return await ended(self._calls, batch, call, options, pause)
