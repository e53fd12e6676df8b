"""The items that the model is to see, and those that are to be stored (specification section 10)."""

from dataclasses import dataclass, field

import msgspec

from antiphon.chat.input import normalise_input
from antiphon.errors import ClientError
from antiphon.ids import NewId
from antiphon.protocol.calls import check_calls
from antiphon.protocol.items import InputItem, Item, ItemReference, Reasoning
from antiphon.protocol.requests import CreateResponse
from antiphon.store.base import Store, StoredItem

CHAINABLE = {"completed", "incomplete"}
"""Statuses of a response that another can follow."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(InputItem).decode


@dataclass(slots=True)
class Context:
    """What a response starts from: the chain's items, and its own new input."""

    history: list[InputItem] = field(default_factory=list)
    input: list[InputItem] = field(default_factory=list)

    @property
    def items(self) -> list[InputItem]:
        """Everything the model is to see, oldest first: parents' input and output in order, then the new input."""
        return self.history + self.input


async def gather(request: CreateResponse, store: Store, new_id: NewId) -> Context:
    """Return the context of a request.

    Raises `ClientError`: `previous_response_not_found`, an `item_reference` to nothing (404), an empty input, and a
    call or an output without the other (specification section 13).
    """
    context = Context()
    if request.previous_response_id is not None:
        context.history = await _chain(request.previous_response_id, store)
    given = request.input if request.input is not msgspec.UNSET else []
    if not given and request.previous_response_id is None:
        raise nothing_given()
    for item in normalise_input(given, new_id) if given else ():
        context.input.append(await _resolve(item, store))
    check_calls(context.items)
    return context


def nothing_given() -> ClientError:
    """Return the error for a request with nothing to answer (specification section 13)."""
    return ClientError(
        """One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.""",
        code="missing_required_parameter",
    )


def previous_not_found(response_id: str) -> ClientError:
    """Return the error for a chain that is not stored here (specification section 13)."""
    return ClientError(
        f"Previous response with id '{response_id[:100]}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def store_item(item: Item, sealed: str | None = None) -> StoredItem:
    """Return an item as it is kept; a reasoning item's `encrypted_content` is kept apart."""
    if isinstance(item, Reasoning) and item.encrypted_content:
        sealed = item.encrypted_content
        item = msgspec.structs.replace(item, encrypted_content=msgspec.UNSET)
    return StoredItem(str(item.id), _encode(item), sealed)


def load_item(stored: StoredItem) -> InputItem:
    """Return a stored item as it was, `encrypted_content` included."""
    item: InputItem = _decode(stored.body)
    if isinstance(item, Reasoning) and stored.sealed:
        item.encrypted_content = stored.sealed
    return item


async def _chain(response_id: str, store: Store) -> list[InputItem]:
    parent = await store.load(response_id)
    stored = await store.history(response_id) if parent else None
    if parent is None or stored is None:
        raise previous_not_found(response_id)
    if parent.status not in CHAINABLE:
        raise ClientError(
            f"Invalid 'previous_response_id': response '{response_id}' has status '{parent.status}', "
            "and only a completed or incomplete response can be followed.",
            code="invalid_value",
            param="previous_response_id",
        )
    return [load_item(item) for item in stored]


async def _resolve(item: InputItem, store: Store) -> InputItem:
    """Return what an item stands for: a reference for the stored item, bare reasoning for what was kept with it."""
    if isinstance(item, ItemReference):
        stored = await store.find_item(str(item.id))
        if stored is None:
            raise ClientError(
                f"Item with id '{item.id}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )
        return load_item(stored)
    if isinstance(item, Reasoning) and not item.encrypted_content and item.id:
        stored = await store.find_item(item.id)
        if stored is not None and stored.sealed:
            item.encrypted_content = stored.sealed
    return item
