"""Stored responses: retrieve and delete them, and list their input items (specification sections 1, 10.5)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError
from antiphon.objects.large import LARGE, Shared, decoded, shown, size_of
from antiphon.protocol.resources import InputItemsQuery, ResponsesQuery
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import jobs, responses
from antiphon.storage.records.responses import PageQuery, StoredItem, StoredResponse
from antiphon.storage.store import Store
from antiphon.translation.hosted_call import APART

FILE_RESULTS = "file_search_call.results"
CODE_OUTPUTS = "code_interpreter_call.outputs"
INCLUDED: Mapping[str, tuple[str, str]] = {
    "file_search_call": (FILE_RESULTS, "results"),
    "code_interpreter_call": (CODE_OUTPUTS, "outputs"),
}
"""By item type: the `include` value that requests the results of the item's tool, and the field that contains them.

If the original request did not include it, the field is sealed with the item.
"""

Opens = Callable[[str], Mapping[str, Any] | None]


async def retrieve(
    store: Store, tenant: str, response_id: str, include: Collection[str], shared: Shared | None = None
) -> dict[str, Any]:
    """Return the response object. Raises `ClientError` (404) if it is unknown."""
    return await show_response(await _load(store, tenant, response_id), include, shared)


async def show_response(
    stored: StoredResponse, include: Collection[str], shared: Shared | None = None
) -> dict[str, Any]:
    """Return a stored response as its JSON object. A running one has its finished items."""
    size = len(stored.body) + size_of(stored.output)
    opens = opening(shared, stored.tenant, include)
    if size <= LARGE:  # most are: `shown` would add a stack frame to each
        response = shown_response(stored, include, opens)
    else:
        response = await shown(shared, stored.tenant, size, shown_response, stored, include, opens)
    for item in stored.output:  # like `have_images`, without another stack frame
        if item.id[:3] == PREFIX and KEPT in item.body:
            return await put_images(shared, stored.tenant, response)
    return response


def shown_response(stored: StoredResponse, include: Collection[str], opens: Opens | None = None) -> dict[str, Any]:
    """Return a stored response as its JSON object, without slices."""
    response: dict[str, Any] = decoded(stored.body)
    response["status"] = stored.status
    response["output"] = [shown_item(item, include, opens) for item in stored.output]
    response["output_text"] = "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )
    return response


async def delete(store: Store, tenant: str, response_id: str) -> dict[str, Any]:
    """Delete a response; return the confirmation. Raises `ClientError`: 404 if it is unknown, 400 while it runs."""
    if await store.read(jobs.find_job, tenant, response_id, few=True) is not None:
        raise ClientError("Cannot delete an in-flight response.", param="response_id")
    if not await store.write(responses.delete, tenant, response_id):
        raise not_found(response_id)
    return {"id": response_id, "object": "response", "deleted": True}


async def list_input_items(
    store: Store, tenant: str, response_id: str, query: InputItemsQuery, shared: Shared | None = None
) -> dict[str, Any]:
    """Return a page of a response's complete input: the items of its chain, then its own input.

    Raises `ClientError`: 404 if the response is unknown, 400 if `after` or `before` is not in the list.
    """
    page = await input_page(store, tenant, response_id, page_query(query))
    if page is None:
        raise not_found(response_id)
    if page.unknown:
        raise invalid_bound(page.unknown, query, "input item")
    return await show_page(tenant, page.items, query, shared, has_more=page.has_more)


def page_query(query: InputItemsQuery) -> PageQuery:
    """Return a client's page parameters as a query for the store."""
    return PageQuery(query.limit, query.after, query.before, query.order == "desc")


async def show_page(
    tenant: str,
    items: Sequence[StoredItem],
    query: InputItemsQuery,
    shared: Shared | None = None,
    *,
    has_more: bool = False,
) -> dict[str, Any]:
    """Return items as a page of a list."""
    opens = opening(shared, tenant, query.include)
    page = await shown(shared, tenant, size_of(items), _page_of, items, query, has_more, opens)
    return page if not have_images(items) else await put_images(shared, tenant, page)


async def show_item(item: StoredItem, tenant: str, include: Collection[str], shared: Shared) -> dict[str, Any]:
    """Return one item."""
    opens = opening(shared, tenant, include)
    shown_one = await shown(shared, tenant, size_of([item]), shown_item, item, include, opens)
    return shown_one if not have_images([item]) else await put_images(shared, tenant, shown_one)


def have_images(items: Sequence[StoredItem]) -> bool:
    """Return whether one of these items has an image that is stored separately."""
    for item in items:  # noqa: SIM110 - most lists are short, and this calls nothing
        if item.id[:3] == PREFIX and KEPT in item.body:
            return True
    return False


PREFIX = "ig_"
"""The prefix of the ids of items with images that this server generated."""

KEPT = b'"kept:'
"""The prefix of an image reference (`protocol/kept_images.py`)."""


async def put_images(shared: Shared | None, tenant: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its images inserted, or unchanged without `shared`."""
    from antiphon.objects.images import with_images  # noqa: PLC0415 - few responses have images

    return value if shared is None else await with_images(shared, tenant, value)


def _page_of(
    items: Sequence[StoredItem], query: InputItemsQuery, has_more: bool, opens: Opens | None
) -> dict[str, Any]:
    data = [_listed_item(item, query.include, opens) for item in items]
    return {
        "object": "list",
        "data": data,
        "first_id": items[0].id if items else None,
        "last_id": items[-1].id if items else None,
        "has_more": has_more,
    }


def invalid_bound(name: str, query: InputItemsQuery | ResponsesQuery, what: str) -> ClientError:
    """Return the error for an `after` or `before` that is not in the list."""
    item_id = str(getattr(query, name))[:100]
    return ClientError(f"Invalid '{name}': no {what} with id '{item_id}'.", code="invalid_value", param=name)


def not_found(response_id: str) -> ClientError:
    """Return the error for an unknown response (specification section 13)."""
    return ClientError(f"Response with id '{response_id[:100]}' not found.", status=404)


async def _load(store: Store, tenant: str, response_id: str) -> StoredResponse:
    stored = await store.read(responses.load, tenant, response_id)
    if stored is None:
        raise not_found(response_id)
    return stored


def _listed_item(stored: StoredItem, include: Collection[str], opens: Opens | None) -> dict[str, Any] | msgspec.Raw:
    """Return an item as its JSON object, or a large item as it is stored if all its fields are shown."""
    if len(stored.body) < LARGE or (stored.sealed and "reasoning.encrypted_content" in include):
        return shown_item(stored, include, opens)
    has_more = any(mark in stored.body for mark in _ON_DEMAND)
    return shown_item(stored, include, opens) if has_more else msgspec.Raw(stored.body)


_ON_DEMAND = (b'"input_image"', b'"computer_call_output"', *(f'"{kind}"'.encode() for kind in INCLUDED))
"""Texts in the JSON of items with fields that are only shown on demand."""


def shown_item(stored: StoredItem, include: Collection[str], opens: Opens | None = None) -> dict[str, Any]:
    """Return an item as its JSON object. Fields of `include` are only present if they were requested.

    `opens` decrypts the sealed content of an item.
    """
    item: dict[str, Any] = decoded(stored.body)
    if stored.sealed and "reasoning.encrypted_content" in include:
        item["encrypted_content"] = stored.sealed
    if "message.input_image.image_url" not in include and isinstance(item.get("content"), list):
        for part in item["content"]:
            if part["type"] == "input_image":
                part["image_url"] = None
    if item["type"] == "computer_call_output" and "computer_call_output.output.image_url" not in include:
        item["output"]["image_url"] = None
    if item["type"] in INCLUDED:
        wanted, field = INCLUDED[item["type"]]
        item[field] = _result(field, item, stored, opens) if wanted in include else None
    return item


def _result(field: str, item: dict[str, Any], stored: StoredItem, opens: Opens | None) -> Any:
    """Return the results of a tool, from its item or from the item's sealed content."""
    if item.get(field) is not None or opens is None or not stored.sealed:
        return item.get(field)
    return (opens(stored.sealed.rpartition(APART)[2]) or {}).get(field)


def opening(shared: Shared | None, tenant: str, include: Collection[str]) -> Opens | None:
    """Return a function that decrypts a tenant's sealed content, or None if none is requested."""
    is_asked = FILE_RESULTS in include or CODE_OUTPUTS in include
    return None if shared is None or not is_asked else partial(_unsealed, shared.keyring, tenant)


def _unsealed(keyring: Keyring, tenant: str, blob: str) -> Mapping[str, Any] | None:
    return keyring.unseal(blob, tenant)
