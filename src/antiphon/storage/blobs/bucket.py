"""Blobs as objects of an S3-compatible bucket. `obstore` signs, retries and uploads in parts."""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.blobs.turns import turn_of
from antiphon.storage.records.files import BLOB_PART

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CHUNK = 5 * 1024 * 1024
"""Size of one part of an upload in bytes: the minimum of S3. The maximum of 10,000 parts allows 48
GB.
"""

AT_ONCE = 2
"""Maximum number of parts of one upload that are sent concurrently."""

READ = 4 * BLOB_PART
"""Bytes that one request reads. Each request has its own time limit."""


class BucketBlobs:
    """See `BlobStorage`. `objects` is any store of `obstore`."""

    retained = (AT_ONCE + 2) * CHUNK

    def __init__(self, objects: "ObjectStore", turns: FairScheduler) -> None:
        self._objects = objects
        self._turns = turns

    def new_name(self) -> str:
        """See `BlobStorage.new_name`."""
        return new_id("obj")

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """See `BlobStorage.write`.

        An object appears only when it is complete; a failed upload is aborted.
        """
        cause: list[BaseException] = []

        async def noted() -> AsyncGenerator[bytes, None]:
            try:
                async for piece in content:
                    yield piece
            except BaseException as error:
                cause.append(error)
                raise

        try:
            await obstore.put_async(
                self._objects,
                blob,
                noted(),
                use_multipart=True,
                chunk_size=CHUNK,
                max_concurrency=AT_ONCE,
            )
        except Exception as error:
            if cause:  # raise the content's own exception, not the one that `obstore` made of it
                raise cause[0] from error
            raise _failed(error) from error

    async def read(
        self, blob: str, start: int, end: int, tenant: str
    ) -> AsyncGenerator[bytes, None]:
        """See `BlobStorage.read`."""
        while start < end:
            try:
                async with turn_of(self._turns, tenant):
                    found = await obstore.get_range_async(
                        self._objects, blob, start=start, end=min(start + READ, end)
                    )
            except (BaseError, OSError) as error:
                raise _failed(error) from error
            view = memoryview(found)
            if not view:
                raise StoreError(
                    "The file's content is incomplete: its object in the bucket was changed."
                )
            for place in range(0, len(view), BLOB_PART):
                yield bytes(view[place : place + BLOB_PART])
            start += len(view)

    async def delete(self, blob: str) -> None:
        """See `BlobStorage.delete`."""
        try:
            await obstore.delete_async(self._objects, blob)
        except (NotFoundError, FileNotFoundError):
            pass
        except (BaseError, OSError) as error:
            raise _failed(error) from error

    async def close(self) -> None:
        """See `BlobStorage.close`."""


def open_bucket(name: str, prefix: str, endpoint: str, region: str) -> S3Store:
    """Return a bucket. The credentials come from `AWS_ACCESS_KEY_ID` and other AWS variables, or
    from the machine.
    """
    options: dict[str, Any] = {"region": region} if region else {}
    if endpoint:
        options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
    is_plain = endpoint.startswith("http://")
    return S3Store(name, prefix=prefix or None, client_options={"allow_http": is_plain}, **options)


def _failed(error: BaseException) -> StoreError:
    """Return the error for the client, without an address. The cause is kept for the log."""
    return StoreError(f"The bucket of file_storage failed: {type(error).__name__}.")
