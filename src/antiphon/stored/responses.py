"""What was stored, as clients get it back: GET, DELETE and the list of input items (specification sections 1, 10.5)."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.protocol.resources import InputItemsQuery
from antiphon.storage.contract import Store, StoredItem, StoredResponse


async def retrieve(store: Store, tenant: str, response_id: str, include: Collection[str]) -> dict[str, Any]:
    """Return the response object. Raises `ClientError` (404) where it is unknown."""
    return shown_response(await _load(store, tenant, response_id), include)


def shown_response(stored: StoredResponse, include: Collection[str]) -> dict[str, Any]:
    """Return a stored response as its JSON object; of one that is being made, with the items that are done."""
    response: dict[str, Any] = msgspec.json.decode(stored.body)
    response["status"] = stored.status
    response["output"] = [shown_item(item, include) for item in stored.output]
    response["output_text"] = "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )
    return response


async def delete(store: Store, tenant: str, response_id: str) -> dict[str, Any]:
    """Forget a response and say so. Raises `ClientError`: 404 where it is unknown, 400 while it is being made."""
    if await store.find_job(tenant, response_id) is not None:
        raise ClientError("Cannot delete an in-flight response.", param="response_id")
    if not await store.delete(tenant, response_id):
        raise not_found(response_id)
    return {"id": response_id, "object": "response", "deleted": True}


async def list_input_items(store: Store, tenant: str, response_id: str, query: InputItemsQuery) -> dict[str, Any]:
    """Return a page of the items that the response was made from: its chain's, then its own.

    Raises `ClientError`: 404 where the response is unknown, 400 where `after` or `before` names no item of it.
    """
    stored = await _load(store, tenant, response_id)
    items = [*await _before(store, stored), *stored.input]
    if query.order == "desc":
        items.reverse()
    return page_of(_between(items, query.after, query.before), query)


def page_of(items: Sequence[StoredItem], query: InputItemsQuery) -> dict[str, Any]:
    """Return the first of the items as a page; `has_more` tells whether that is not all of them."""
    data = [shown_item(item, query.include) for item in items[: query.limit]]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(items) > query.limit,
    }


def not_found(response_id: str) -> ClientError:
    """Return the error for a response that is not there (specification section 13)."""
    return ClientError(f"Response with id '{response_id[:100]}' not found.", status=404)


async def _load(store: Store, tenant: str, response_id: str) -> StoredResponse:
    stored = await store.load(tenant, response_id)
    if stored is None:
        raise not_found(response_id)
    return stored


async def _before(store: Store, stored: StoredResponse) -> Sequence[StoredItem]:
    """What the response was made from beside its own input."""
    if stored.previous_response_id is not None:
        return await store.history(stored.tenant, stored.previous_response_id) or ()
    if stored.conversation_id is not None:
        history = await store.history(stored.tenant, stored.id) or ()
        return history[: len(history) - len(stored.input) - len(stored.output)]
    return ()


def _between(items: Sequence[StoredItem], after: str | None, before: str | None) -> Sequence[StoredItem]:
    start = _position(items, after, "after") + 1 if after else 0
    end = _position(items, before, "before") if before else len(items)
    return items[start:end]


def _position(items: Sequence[StoredItem], item_id: str, param: str) -> int:
    for position, item in enumerate(items):
        if item.id == item_id:
            return position
    raise ClientError(f"Invalid '{param}': no input item with id '{item_id[:100]}'.", code="invalid_value", param=param)


def shown_item(stored: StoredItem, include: Collection[str]) -> dict[str, Any]:
    """Return an item as its JSON object, with what is shown on demand only where that is asked."""
    item: dict[str, Any] = msgspec.json.decode(stored.body)
    if stored.sealed and "reasoning.encrypted_content" in include:
        item["encrypted_content"] = stored.sealed
    if "message.input_image.image_url" not in include and isinstance(item.get("content"), list):
        for part in item["content"]:
            if part["type"] == "input_image":
                part["image_url"] = None
    if item["type"] == "computer_call_output" and "computer_call_output.output.image_url" not in include:
        item["output"]["image_url"] = None
    return item
