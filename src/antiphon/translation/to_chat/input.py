"""A request's `input` in one normal form, the one that is stored: items with ids, statuses and content parts."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.ids import NewId
from antiphon.protocol.items.content import InputText, OutputText
from antiphon.protocol.items.messages import (
    ID_PREFIXES,
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Message,
)

_WITH_STATUS = (Message, FunctionCall, FunctionCallOutput)


def normalise_input(input: str | Sequence[InputItem] | Any, new_id: NewId) -> list[InputItem]:
    """Return `input` as items; the items given are not changed.

    A string is one user message, an absent input no items. An item without an id gets a new one, a message's string
    content becomes one part, and a message, call or call output without a status is `completed`.
    """
    if input is UNSET:
        return []
    if isinstance(input, str):
        text = InputText(text=input)
        return [Message(id=new_id(ID_PREFIXES[Message]), status="completed", role="user", content=[text])]
    return [_normalise(item, new_id) for item in input]


def _normalise(item: InputItem, new_id: NewId) -> InputItem:
    changes: dict[str, Any] = {}
    prefix = ID_PREFIXES.get(type(item))
    if prefix and not item.id:
        changes["id"] = new_id(prefix)
    if isinstance(item, _WITH_STATUS) and not item.status:
        changes["status"] = "completed"
    if isinstance(item, Message) and isinstance(item.content, str):
        part = OutputText if item.role == "assistant" else InputText
        changes["content"] = [part(text=item.content)]
    return replace(item, **changes)
