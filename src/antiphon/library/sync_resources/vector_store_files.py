"""The files in the vector stores of `Antiphon`, and the batches in which they are attached.

Written by `scripts/sync_client.py`.
"""

from collections.abc import Sequence
from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.file_parameters import (
    AttachedFileOptions,
    Attributes,
    NewBatch,
    NewStoreFile,
    StoreFilePageParameters,
)
from antiphon.library.forms import FileInput
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.vector_store_files import (
    AsyncVectorStoreFileBatches,
    AsyncVectorStoreFiles,
)
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import (
    VectorStoreFile,
    VectorStoreFileBatch,
    VectorStoreFileContent,
    VectorStoreFileDeleted,
)


class VectorStoreFiles:
    """The files in vector stores: attach, change, list, read and remove them."""

    def __init__(self, resource: AsyncVectorStoreFiles, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(self, vector_store_id: str, **parameters: Unpack[NewStoreFile]) -> VectorStoreFile:
        """Attach a file, which is ingested in the background."""
        return self._owner.run(self._resource.create(vector_store_id, **parameters))

    @spelled_out
    def create_and_poll(
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
        return self._owner.run(
            self._resource.create_and_poll(
                file_id,
                vector_store_id=vector_store_id,
                poll_interval_ms=poll_interval_ms,
                **parameters,
            )
        )

    @spelled_out
    def upload(
        self, *, vector_store_id: str, file: FileInput, **parameters: Unpack[AttachedFileOptions]
    ) -> VectorStoreFile:
        """Upload a file and attach it. See `files.create` for what a file can be."""
        return self._owner.run(
            self._resource.upload(vector_store_id=vector_store_id, file=file, **parameters)
        )

    @spelled_out
    def upload_and_poll(
        self,
        *,
        vector_store_id: str,
        file: FileInput,
        poll_interval_ms: int | None = None,
        **parameters: Unpack[AttachedFileOptions],
    ) -> VectorStoreFile:
        """Upload a file, attach it, and wait until it is ingested."""
        return self._owner.run(
            self._resource.upload_and_poll(
                vector_store_id=vector_store_id,
                file=file,
                poll_interval_ms=poll_interval_ms,
                **parameters,
            )
        )

    @spelled_out
    def poll(
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
        return self._owner.run(
            self._resource.poll(
                file_id,
                vector_store_id=vector_store_id,
                poll_interval_ms=poll_interval_ms,
                **options,
            )
        )

    @spelled_out
    def retrieve(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFile:
        """Return a file in a vector store."""
        return self._owner.run(
            self._resource.retrieve(file_id, vector_store_id=vector_store_id, **options)
        )

    @spelled_out
    def update(
        self,
        file_id: str,
        *,
        vector_store_id: str,
        attributes: Attributes | None,
        **options: Unpack[CallOptions],
    ) -> VectorStoreFile:
        """Replace the attributes of a file; None removes them all."""
        return self._owner.run(
            self._resource.update(
                file_id, vector_store_id=vector_store_id, attributes=attributes, **options
            )
        )

    @spelled_out
    def list(
        self, vector_store_id: str, **parameters: Unpack[StoreFilePageParameters]
    ) -> Pages[VectorStoreFile]:
        """Return the files of a vector store, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(vector_store_id, **parameters), self._owner)

    @spelled_out
    def delete(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileDeleted:
        """Remove a file from a vector store; the file itself remains."""
        return self._owner.run(
            self._resource.delete(file_id, vector_store_id=vector_store_id, **options)
        )

    @spelled_out
    def content(
        self, file_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileContent:
        """Return the text of a file, as it is searched."""
        return self._owner.run(
            self._resource.content(file_id, vector_store_id=vector_store_id, **options)
        )


class VectorStoreFileBatches:
    """Files that are attached to a vector store together."""

    def __init__(self, resource: AsyncVectorStoreFileBatches, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(self, vector_store_id: str, **parameters: Unpack[NewBatch]) -> VectorStoreFileBatch:
        """Attach files, which are ingested in the background."""
        return self._owner.run(self._resource.create(vector_store_id, **parameters))

    @spelled_out
    def create_and_poll(
        self,
        vector_store_id: str,
        *,
        poll_interval_ms: int | None = None,
        **parameters: Unpack[NewBatch],
    ) -> VectorStoreFileBatch:
        """Attach files, and wait until all are ingested. `file_counts` says how many failed."""
        return self._owner.run(
            self._resource.create_and_poll(
                vector_store_id, poll_interval_ms=poll_interval_ms, **parameters
            )
        )

    @spelled_out
    def upload_and_poll(
        self,
        vector_store_id: str,
        *,
        files: Sequence[FileInput],
        file_ids: Sequence[str] = (),
        poll_interval_ms: int | None = None,
        **parameters: Unpack[AttachedFileOptions],
    ) -> VectorStoreFileBatch:
        """Upload files, attach them with those of `file_ids`, and wait until all are ingested."""
        return self._owner.run(
            self._resource.upload_and_poll(
                vector_store_id,
                files=files,
                file_ids=file_ids,
                poll_interval_ms=poll_interval_ms,
                **parameters,
            )
        )

    @spelled_out
    def poll(
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
        return self._owner.run(
            self._resource.poll(
                batch_id,
                vector_store_id=vector_store_id,
                poll_interval_ms=poll_interval_ms,
                **options,
            )
        )

    @spelled_out
    def retrieve(
        self, batch_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileBatch:
        """Return a batch."""
        return self._owner.run(
            self._resource.retrieve(batch_id, vector_store_id=vector_store_id, **options)
        )

    @spelled_out
    def cancel(
        self, batch_id: str, *, vector_store_id: str, **options: Unpack[CallOptions]
    ) -> VectorStoreFileBatch:
        """Cancel the files of a batch that are not ingested yet."""
        return self._owner.run(
            self._resource.cancel(batch_id, vector_store_id=vector_store_id, **options)
        )

    @spelled_out
    def list_files(
        self, batch_id: str, *, vector_store_id: str, **parameters: Unpack[StoreFilePageParameters]
    ) -> Pages[VectorStoreFile]:
        """Return the files of a batch, newest first unless `order` is `asc`."""
        return Pages(
            self._resource.list_files(batch_id, vector_store_id=vector_store_id, **parameters),
            self._owner,
        )
