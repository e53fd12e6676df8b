"""Images of `image_generation_call` items: stored as blobs, and inserted again when a client reads
the item.

A stored item has a reference instead of the image (`protocol/stored_images.py`), so that turns of a
chain do not read it.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, Protocol

from antiphon.objects.files import Files
from antiphon.protocol.json_pieces import LargeObject, encode_large
from antiphon.protocol.json_slices import decoded
from antiphon.protocol.stored_images import StoredImage, as_base64
from antiphon.sharing.memory import Account, Memory
from antiphon.sharing.offload import Offload
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.operations import item_blobs
from antiphon.storage.store import Store

Object = dict[str, Any]

PER_BYTE = 3
"""Bytes of memory per byte of an image until it is sent: the image itself, as base64, and as
JSON.
"""

TYPE = b'"image_generation_call"'


class StoredImageParts(Protocol):
    """What reading stored images needs."""

    @property
    def store(self) -> Store:
        """The store of items."""
        ...

    @property
    def memory(self) -> Memory:
        """Counts the memory of tenants."""
        ...

    @property
    def offload(self) -> Offload:
        """Decodes and encodes images."""
        ...

    @property
    def files(self) -> FileReader:
        """Reads the blobs of images."""
        ...


class StoredImages:
    """Stores the images of all tenants.

    An `ImageStore`. `open_files` returns the storage of their content.
    """

    def __init__(self, store: Store, open_files: Callable[[], Files]) -> None:
        self._store = store
        self._open_files = open_files

    async def save(self, tenant: str, data: bytes) -> str:
        """Store an image while its response runs, and then as long as a response contains it."""

        async def content() -> AsyncGenerator[bytes, None]:
            yield data

        files = self._open_files()
        return (await files.write(tenant, content(), await files.room(tenant))).blob

    async def load(self, tenant: str, stored_image: StoredImage) -> bytes | None:
        """Return a stored image, or None if the tenant has no such blob. Raises `StoreError`."""
        return await _load(self._store, self._open_files(), tenant, stored_image)

    async def load_file(self, tenant: str, file_id: str, most: int) -> bytes | None:
        """Return the content of a file, or None if it is unknown or too large.

        Raises `StoreError`.
        """
        files = self._open_files()
        found = await files.find(tenant, file_id)
        if found is None or found.size > most:
            return None
        return b"".join([part async for part in files.read(found)])


async def _load(
    store: Store, files: FileReader, tenant: str, stored_image: StoredImage
) -> bytes | None:
    if not await store.read(item_blobs.owns, tenant, stored_image.blob):
        return None
    return b"".join(
        [part async for part in files.read_blob(tenant, stored_image.blob, 0, stored_image.size)]
    )


async def with_images(parts: StoredImageParts, tenant: str, value: Object) -> Object:
    """Return a response, an event, an item or a list of items with its images inserted.

    Other objects are unchanged.

    The memory of the images counts for the tenant until the object is released. Raises
    `StoreError`, and the exceptions of `Memory.take` if not enough memory is available.
    """
    items = [
        (item, stored)
        for item in _items_of(value)
        if (stored := StoredImage.read(item.get("result")))
    ]
    if not items:
        return value
    account = Account(parts.memory, tenant)
    account.take(PER_BYTE * sum(stored.size for _, stored in items))
    for item, stored in items:
        data = await _load(parts.store, parts.files, tenant, stored)
        item["result"] = (
            None if data is None else await parts.offload.run(tenant, len(data), as_base64, data)
        )
    created = LargeObject(value)
    created.account = account
    return created


async def event_with_images(parts: StoredImageParts, tenant: str, event: bytes) -> bytes:
    """Return a server-sent event with its images inserted."""
    head, mark, data = event.partition(b"data: ")
    if TYPE not in data or b'"kept:' not in data:
        return event
    values = await parts.offload.run(tenant, len(data), decoded, data)
    displayed = await with_images(parts, tenant, values)
    return head + mark + await parts.offload.in_thread(tenant, encode_large, displayed)


def _items_of(value: Any) -> Iterator[Object]:
    """Yield the items in an object of any of these kinds."""
    if not isinstance(value, Mapping):
        return
    if value.get("type") == "image_generation_call" and isinstance(value, dict):
        yield value
    for name in ("item", "response"):
        yield from _items_of(value.get(name))
    for name in ("output", "data"):
        several = value.get(name)
        for each in several if isinstance(several, list) else ():
            yield from _items_of(each)
