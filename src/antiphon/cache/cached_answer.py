"""A model's answer as the cache stores it: the events of its items, without their numbers.

It is recorded from any stream, of any kind of backend; replayed, it is a stream like any other,
with ids, numbers and padding of the new response.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Union

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.protocol import events
from antiphon.protocol.events import (
    Event,
    ItemEvent,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
)
from antiphon.protocol.items.calls import (
    ApplyPatchCall,
    ComputerCall,
    CustomToolCall,
    LocalShellCall,
    ShellCall,
)
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import (
    ID_PREFIXES,
    FunctionCall,
    InputItem,
    Message,
    Reasoning,
)
from antiphon.protocol.response import Usage
from antiphon.translation.writer import ResponseWriter, padding

MODEL_OUTPUT: frozenset[type] = frozenset(
    {
        Message,
        Reasoning,
        FunctionCall,
        CustomToolCall,
        LocalShellCall,
        ShellCall,
        ApplyPatchCall,
        ComputerCall,
    }
)
"""Items that a model creates alone. Items that a server ran or compacted are no answer to another
request.
"""

KINDS: tuple[Any, ...] = tuple(
    kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, ItemEvent) and not kind.__subclasses__()
)
"""Every kind of event that is about an item."""

if TYPE_CHECKING:
    AnyKind = Any
else:
    AnyKind = Union[KINDS]  # noqa: UP007 - whichever exist

_DELTAS = frozenset(kind for kind in KINDS if "delta" in kind.__struct_fields__)
_PADDED = frozenset(kind for kind in KINDS if "obfuscation" in kind.__struct_fields__)
_PLACE = ("output_index", "item_id", "content_index", "summary_index", "command_index")


class AnswerOrigin(Struct, frozen=True, array_like=True):
    """The origin of an answer: the backend's name and URL, its name of the model, and the digest of
    its defaults.
    """

    backend: str
    url: str
    model: str
    defaults: str = ""


class CachedAnswer(Struct, kw_only=True, array_like=True):
    """One answer. `sealed` holds each reasoning item's `encrypted_content`, by the id that the item
    has here.
    """

    origin: AnswerOrigin
    usage: Usage | None
    sealed: dict[str, str]
    events: list[AnyKind]
    ignored_tools: list[str] = []
    """Types of tools that the backend did not receive."""
    adjusted: list[str] = []
    """What the backend was sent differently than the client wrote it
    (`to_chat_completions.adjustments`).
    """
    effort: str | None = None
    """The effort that was applied, if it was adjusted."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(CachedAnswer).decode


def is_model_output(event: Event) -> bool:
    """Whether an event can be part of a cached answer, as far as the event shows."""
    return not isinstance(event, ResponseOutputItemAddedEvent) or type(event.item) in MODEL_OUTPUT


def noted(
    events: Iterable[Event],
    origin: AnswerOrigin,
    usage: Usage | None,
    sealed: Mapping[str, str],
    ignored_tools: Sequence[str] = (),
    adjusted: Sequence[str] = (),
    effort: str | None = None,
) -> CachedAnswer | None:
    """Return the answer in these events, None if it is not the model's alone."""
    found = [event for event in events if isinstance(event, ItemEvent)]
    if not found or not all(type(event) in KINDS and is_model_output(event) for event in found):
        return None
    items: list[Any] = [
        event.item for event in found if isinstance(event, ResponseOutputItemDoneEvent)
    ]
    own = {item.id: sealed[item.id] for item in items if item.id in sealed}
    return CachedAnswer(
        origin=origin,
        usage=usage,
        sealed=own,
        events=[*_in_few(found)],
        ignored_tools=[*ignored_tools],
        adjusted=[*adjusted],
        effort=effort,
    )


def to_bytes(answer: CachedAnswer) -> bytes:
    """Return an answer as bytes for the store."""
    return zlib.compress(_encode(answer), 1)


def from_bytes(body: bytes) -> CachedAnswer | None:
    """Return an answer, None if the bytes are from another version of this program."""
    try:
        return _decode(zlib.decompress(body))
    except (zlib.error, msgspec.MsgspecError):
        return None


def replay_answer(answer: CachedAnswer, writer: ResponseWriter) -> None:
    """Emit an answer through the writer."""
    ids: dict[str, str] = {}
    places: dict[int, int] = {}
    for event in answer.events:
        if isinstance(event, ResponseOutputItemAddedEvent):
            item = _item(event.item)
            ids[str(item.id)] = new = writer.new_id(ID_PREFIXES[type(item)])
            places[event.output_index] = writer.open_item(replace(item, id=new))
        elif isinstance(event, ResponseOutputItemDoneEvent):
            item = _item(event.item)
            new = ids[str(item.id)]
            if (sealed := answer.sealed.get(str(item.id))) is not None:
                writer.sealed[new] = sealed
            writer.close_item(places[event.output_index], replace(item, id=new))
        else:
            writer.emit(
                _replaced(event, places[event.output_index], ids, pads=writer.view.obfuscation)
            )


def _replaced(event: Any, output_index: int, ids: Mapping[str, str], *, pads: bool) -> Event:
    changes: dict[str, Any] = {"output_index": output_index}
    if "item_id" in type(event).__struct_fields__:
        changes["item_id"] = ids[event.item_id]
    if type(event) in _PADDED and pads:
        changes["obfuscation"] = padding(event.delta)
    found: Event = replace(event, **changes)
    return found


def _in_few(events: Sequence[ItemEvent]) -> Iterator[ItemEvent]:
    """Join consecutive deltas; their sizes were chosen by the backend."""
    for kind, group in groupby(
        events, lambda event: (type(event), *(getattr(event, name, None) for name in _PLACE))
    ):
        same: list[Any] = list(group)
        if kind[0] not in _DELTAS:
            yield from same
            continue
        changes: dict[str, Any] = {"delta": "".join(event.delta for event in same)}
        if kind[0] in _PADDED:
            changes["obfuscation"] = UNSET
        if "logprobs" in same[0].__struct_fields__:
            changes["logprobs"] = [entry for event in same for entry in event.logprobs]
        yield replace(same[0], **changes)


def _item(item: Any) -> Item:
    found: Item = msgspec.convert(item, InputItem)
    return found
