"""All storage locations of content. New files go to the configured one; the name of a blob encodes
its location.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping

from antiphon.errors import StoreError
from antiphon.storage.blobs.base import BlobStorage


class Places:
    """See `BlobStorage`. `places` maps prefixes of blob names to storage locations; new blobs go to
    `chosen`.

    So files that were stored before a change of the setting remain readable.
    """

    def __init__(self, places: Mapping[str, BlobStorage], chosen: str) -> None:
        self._places = places
        self._chosen = places[chosen]

    @property
    def retained(self) -> int:
        """See `BlobStorage.retained`."""
        return self._chosen.retained

    def new_name(self) -> str:
        """See `BlobStorage.new_name`."""
        return self._chosen.new_name()

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """See `BlobStorage.write`."""
        await self._of(blob).write(blob, content, tenant)

    async def read(
        self, blob: str, start: int, end: int, tenant: str
    ) -> AsyncGenerator[bytes, None]:
        """See `BlobStorage.read`."""
        async for part in self._of(blob).read(blob, start, end, tenant):
            yield part

    async def delete(self, blob: str) -> None:
        """See `BlobStorage.delete`."""
        await self._of(blob).delete(blob)

    async def close(self) -> None:
        """See `BlobStorage.close`."""
        for place in self._places.values():
            await place.close()

    def _of(self, blob: str) -> BlobStorage:
        place = self._places.get(blob.partition("_")[0])
        if place is None:
            raise StoreError(
                "The file's content is in a directory or a bucket that the settings no longer "
                "name: set file_storage to its value at the time when the file was stored."
            )
        return place
