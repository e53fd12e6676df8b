"""From plain data, as the API sends it, to the typed objects that the library returns. Nothing here
does I/O.

Unknown data survives: an item of an unknown type, or with unknown fields, becomes an `UnknownItem`,
and an event of an unknown type an `UnknownEvent`.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol import events
from antiphon.protocol.events import AnyPart, Event, UnknownEvent
from antiphon.protocol.forwarded_results import (
    IMAGE_EVENTS,
    ImageEditStreamEvent,
    ImageGenStreamEvent,
    UnknownImageEvent,
)
from antiphon.protocol.items.content import ContentPart, OutputText, ReasoningText, SummaryText
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.objects import ApiObject, UnknownItem
from antiphon.protocol.response import OutputItem, Response
from antiphon.protocol.validation.validate import decode_json

T = TypeVar("T", bound=ApiObject)

_Part = ContentPart | SummaryText | ReasoningText


def read_object(data: dict[str, Any], kind: type[T]) -> T:
    """Return plain data as an object of this kind; the items in it are read one by one."""
    created = msgspec.convert(data, kind)
    for name in ("output", "data"):
        items = getattr(created, name, None)
        if isinstance(items, list) and items and isinstance(items[0], dict):
            setattr(created, name, [read_item(item) for item in items])
    if "sent" in created.__struct_fields__:  # see `Forwarded`
        created.sent = data  # type: ignore[attr-defined]  # it is loaded only where it is used
    if isinstance(created, Response):
        created.output_text = "".join(_texts(created.output))
    return created


def read_item(data: dict[str, Any]) -> OutputItem:
    """Return plain data as an item; an `UnknownItem` if no known type fits it."""
    try:
        item: InputItem = msgspec.convert(data, InputItem)
    except msgspec.ValidationError:
        return UnknownItem(data)
    return item


def read_image_event(body: bytes) -> ImageGenStreamEvent | ImageEditStreamEvent:
    """Return JSON as an event of images.

    Raises `BackendError` for the error with which a backend ends a stream.
    """
    data = decode_json(body)
    if isinstance(error := data.get("error"), dict):
        raise BackendError(str(error.get("message")), code=str(error.get("code") or "server_error"))
    kind = IMAGE_EVENTS.get(data.get("type", ""), UnknownImageEvent)
    event: Any = read_object(data, kind)
    return event  # type: ignore[no-any-return]  # built by a class of the table


def read_event(data: dict[str, Any]) -> Event:
    """Return plain data as an event, with typed objects inside; an `UnknownEvent` if no known type
    fits it.
    """
    kind = _event_types().get(data.get("type", ""))
    if kind is None:
        return UnknownEvent(sequence_number=data.get("sequence_number", 0), data=data)
    event: Any = msgspec.convert(data, kind)
    for name, read in _INSIDE.items():
        if isinstance(inside := getattr(event, name, None), dict):
            setattr(event, name, read(inside))
    if isinstance(getattr(event, "response", None), Response):
        event.response = read_object(data["response"], Response)
    return event  # type: ignore[no-any-return]  # built by a class of the table


def own_event(event: Event) -> Event:
    """Return a copy of a run's event: changes to its objects do not affect the run."""
    return event if type(event) in _SIMPLE else read_event(msgspec.to_builtins(event))


def _read_part(data: dict[str, Any]) -> AnyPart:
    try:
        part: ContentPart | SummaryText | ReasoningText = msgspec.convert(data, _Part)
    except msgspec.ValidationError:
        return UnknownItem(data)
    return part


def _texts(output: list[OutputItem]) -> Iterator[str]:
    for item in output:
        if isinstance(item, Message) and not isinstance(item.content, str):
            yield from (part.text for part in item.content if isinstance(part, OutputText))


@cache
def _event_types() -> dict[str, type[Event]]:
    """Return the type of event for each name on the wire."""
    kinds = Event.__subclasses__()
    for kind in kinds:  # grows while it is read: the subclasses of subclasses follow
        kinds += kind.__subclasses__()
    return {str(kind.__struct_config__.tag): kind for kind in kinds if kind is not UnknownEvent}


_INSIDE = {"item": read_item, "part": _read_part}
"""Fields of events with objects of possibly unknown types, and the functions that read them."""

_SIMPLE = {
    events.ResponseTextDeltaEvent,
    events.ResponseReasoningTextDeltaEvent,
    events.ResponseReasoningSummaryTextDeltaEvent,
    events.ResponseFunctionCallArgumentsDeltaEvent,
}
"""Frequent events, which hold only texts and numbers."""
