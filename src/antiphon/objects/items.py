"""Stored responses and items as JSON objects: what `include` requests, tool results, and images."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.objects.large import Capacity, built_object, size_of
from antiphon.objects.pages import JsonObject, page_of
from antiphon.protocol.json_slices import decoded
from antiphon.protocol.resources import InputItemsQuery
from antiphon.sizes import LARGE
from antiphon.storage.records.responses import PageQuery, StoredItem, StoredResponse
from antiphon.storage.store import Store
from antiphon.translation.hosted_call import APART

if TYPE_CHECKING:
    from antiphon.storage.blobs.base import FileReader

FILE_RESULTS = "file_search_call.results"
CODE_OUTPUTS = "code_interpreter_call.outputs"
INCLUDED: Mapping[str, tuple[str, str]] = {
    "file_search_call": (FILE_RESULTS, "results"),
    "code_interpreter_call": (CODE_OUTPUTS, "outputs"),
}
"""By item type: the `include` value that requests the results of the item's tool, and the field
that contains them.

If the original request did not include it, the field is sealed with the item.
"""

PREFIX = "ig_"
"""The prefix of the ids of items with images that this server generated."""

RETAINED = b'"kept:'
"""The prefix of an image reference (`protocol/stored_images.py`)."""

Opens = Callable[[str], Mapping[str, Any] | None]


class ItemViews:
    """Returns what tenants have stored as JSON objects.

    Large ones are made in threads, and count as memory.

    `open_files` returns the reader of images; only responses with images open it.
    """

    def __init__(
        self,
        store: Store,
        capacity: Capacity,
        keyring: Keyring,
        open_files: "Callable[[], FileReader]",
    ) -> None:
        self.store = store
        self.capacity = capacity
        self.memory = capacity.memory
        self.offload = capacity.offload
        self._keyring = keyring
        self._open_files = open_files

    @property
    def files(self) -> "FileReader":
        """The reader of images."""
        return self._open_files()

    async def response(self, stored: StoredResponse, include: Collection[str]) -> JsonObject:
        """Return a stored response. A running one has its finished items."""
        size = len(stored.body) + size_of(stored.output)
        opens = self._opening(stored.tenant, include)
        if size <= LARGE:  # most are: `built_object` would add a stack frame to each
            response = response_object(stored, include, opens)
        else:
            response = await built_object(
                self.capacity, stored.tenant, size, response_object, stored, include, opens
            )
        for item in stored.output:  # like `have_images`, without another stack frame
            if item.id[:3] == PREFIX and RETAINED in item.body:
                return await self._put_images(stored.tenant, response)
        return response

    async def item(self, tenant: str, item: StoredItem, include: Collection[str]) -> JsonObject:
        """Return one item."""
        opens = self._opening(tenant, include)
        value = await built_object(
            self.capacity, tenant, size_of([item]), item_object, item, include, opens
        )
        return await self.with_images(tenant, [item], value)

    async def page(
        self,
        tenant: str,
        items: Sequence[StoredItem],
        query: InputItemsQuery,
        *,
        has_more: bool = False,
    ) -> JsonObject:
        """Return items as a page of a list."""
        opens = self._opening(tenant, query.include)
        page = await built_object(
            self.capacity, tenant, size_of(items), _page, items, query.include, has_more, opens
        )
        return await self.with_images(tenant, items, page)

    async def with_images(
        self, tenant: str, items: Sequence[StoredItem], value: JsonObject
    ) -> JsonObject:
        """Return an object that shows these items, with the images that are stored separately."""
        return value if not have_images(items) else await self._put_images(tenant, value)

    async def _put_images(self, tenant: str, value: JsonObject) -> JsonObject:
        from antiphon.objects.images import with_images  # noqa: PLC0415 - few responses have images

        return await with_images(self, tenant, value)

    def _opening(self, tenant: str, include: Collection[str]) -> Opens | None:
        """Return a function that decrypts a tenant's sealed content, or None if none is
        requested.
        """
        is_requested = FILE_RESULTS in include or CODE_OUTPUTS in include
        return partial(_unsealed, self._keyring, tenant) if is_requested else None


def response_object(
    stored: StoredResponse, include: Collection[str], opens: Opens | None = None
) -> JsonObject:
    """Return a stored response as its JSON object, without slices."""
    response: JsonObject = decoded(stored.body)
    response["status"] = stored.status
    response["output"] = [item_object(item, include, opens) for item in stored.output]
    response["output_text"] = "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )
    return response


def page_query(query: InputItemsQuery) -> PageQuery:
    """Return a client's page parameters as a query for the store."""
    return PageQuery(query.limit, query.after, query.before, query.order == "desc")


def have_images(items: Sequence[StoredItem]) -> bool:
    """Return whether one of these items has an image that is stored separately."""
    for item in items:  # noqa: SIM110 - most lists are short, and this calls nothing
        if item.id[:3] == PREFIX and RETAINED in item.body:
            return True
    return False


def _page(
    items: Sequence[StoredItem], include: Collection[str], has_more: bool, opens: Opens | None
) -> JsonObject:
    data = [_listed_item(item, include, opens) for item in items]
    return page_of(data, has_more=has_more, ids=[item.id for item in items])


def _listed_item(
    stored: StoredItem, include: Collection[str], opens: Opens | None
) -> JsonObject | msgspec.Raw:
    """Return an item as its JSON object, or a large item as it is stored if all its fields are
    shown.
    """
    if len(stored.body) < LARGE or (stored.sealed and "reasoning.encrypted_content" in include):
        return item_object(stored, include, opens)
    has_more = any(mark in stored.body for mark in _ON_DEMAND)
    return item_object(stored, include, opens) if has_more else msgspec.Raw(stored.body)


_ON_DEMAND = (
    b'"input_image"',
    b'"computer_call_output"',
    *(f'"{kind}"'.encode() for kind in INCLUDED),
)
"""Texts in the JSON of items with fields that are only shown on demand."""


def item_object(
    stored: StoredItem, include: Collection[str], opens: Opens | None = None
) -> JsonObject:
    """Return an item as its JSON object.

    Fields of `include` are only present if they were requested.

    `opens` decrypts the sealed content of an item.
    """
    item: JsonObject = decoded(stored.body)
    if stored.sealed and "reasoning.encrypted_content" in include:
        item["encrypted_content"] = stored.sealed
    if "message.input_image.image_url" not in include and isinstance(item.get("content"), list):
        for part in item["content"]:
            if part["type"] == "input_image":
                part["image_url"] = None
    if (
        item["type"] == "computer_call_output"
        and "computer_call_output.output.image_url" not in include
    ):
        item["output"]["image_url"] = None
    if item["type"] in INCLUDED:
        wanted, field = INCLUDED[item["type"]]
        item[field] = _result(field, item, stored, opens) if wanted in include else None
    return item


def _result(field: str, item: JsonObject, stored: StoredItem, opens: Opens | None) -> Any:
    """Return the results of a tool, from its item or from the item's sealed content."""
    if item.get(field) is not None or opens is None or not stored.sealed:
        return item.get(field)
    return (opens(stored.sealed.rpartition(APART)[2]) or {}).get(field)


def _unsealed(keyring: Keyring, tenant: str, blob: str) -> Mapping[str, Any] | None:
    return keyring.unseal(blob, tenant)
