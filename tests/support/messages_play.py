"""Plays finished items as the events of a response, in any pieces and with several calls open at
once.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from antiphon.protocol import events
from antiphon.protocol.items.content import OutputText, Refusal
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, WebSearchCall
from antiphon.protocol.items.messages import FunctionCall, Message, Reasoning
from antiphon.protocol.response import Response, Usage
from antiphon.translation.hosted_items import OPENING
from antiphon.translation.writer import ResponseWriter, View

Pieces = Callable[[str], list[str]]
"""Cuts a text into the pieces in which it arrives."""


def writer_of(view: View | None = None) -> ResponseWriter:
    """A writer with ids and times that are always the same."""
    numbers = count(1)
    response = Response(id="resp_0a1b", created_at=1_700_000_000, model="served")
    return ResponseWriter(
        response,
        lambda prefix: f"{prefix}_{next(numbers):04x}",
        lambda: 1_700_000_001.0,
        lambda state: "",
        view or View(),
    )


def words(text: str) -> list[str]:
    """The text in pieces of up to seven characters."""
    return [text[place : place + 7] for place in range(0, len(text), 7)]


def played(
    items: Sequence[Any],
    pieces: Pieces = words,
    usage: Usage | None = None,
    incomplete: str | None = None,
    *,
    overlap: bool = False,
) -> tuple[list[events.Event], Response]:
    """The events of a response with these items, and the response.

    With `overlap`, an item opens before the one before it is done.
    """
    writer = writer_of()
    writer.start()
    waiting: list[Iterator[None]] = []
    for item in items:
        steps = _play(writer, item, pieces)
        next(steps)
        if overlap and len(waiting) < 2:
            waiting.append(steps)
            continue
        for each in _turns([*waiting, steps]):
            list(each)
        waiting = []
    for each in _turns(waiting):
        list(each)
    if incomplete is None:
        writer.complete(usage)
    else:
        writer.stop_short(incomplete, usage)
    writer.end()
    return writer.take(), writer.response


def _turns(steps: list[Iterator[None]]) -> list[Iterator[None]]:
    """Take a step of each in turn, so that their events are mixed."""
    for _ in range(3):
        for each in steps:
            next(each, None)
    return steps


def _play(writer: ResponseWriter, item: Any, pieces: Pieces) -> Iterator[None]:
    index = writer.open_item(_opened(item))
    yield
    place = {"output_index": index, "item_id": str(item.id)}
    if isinstance(item, Message):
        yield from _message(writer, item, place, pieces)
    elif isinstance(item, Reasoning):
        yield from _reasoning(writer, item, place, pieces)
    elif isinstance(item, FunctionCall):
        for piece in pieces(item.arguments):
            writer.emit(events.ResponseFunctionCallArgumentsDeltaEvent(**place, delta=piece))
            yield
        writer.emit(
            events.ResponseFunctionCallArgumentsDoneEvent(**place, arguments=item.arguments)
        )
    elif isinstance(item, McpCall):
        for piece in pieces(item.arguments):
            writer.emit(events.ResponseMcpCallArgumentsDeltaEvent(**place, delta=piece))
            yield
    elif isinstance(item, CodeInterpreterCall):
        for piece in pieces(item.code or ""):
            writer.emit(events.ResponseCodeInterpreterCallCodeDeltaEvent(**place, delta=piece))
            yield
    writer.close_item(index, item)


def _opened(item: Any) -> Any:
    """The item as it is when it opens."""
    if isinstance(item, Message):
        return replace(item, content=[])
    if isinstance(item, Reasoning):
        return Reasoning(id=item.id, summary=[])
    if isinstance(item, FunctionCall | McpCall):
        return replace(item, arguments="")
    if isinstance(item, WebSearchCall):
        kind = str((item.action or {}).get("type"))
        return WebSearchCall(id=item.id, action=OPENING.get(kind, OPENING["web_search"]))
    if isinstance(item, CodeInterpreterCall):
        return replace(item, code="", outputs=None)
    return item


def _message(
    writer: ResponseWriter, item: Message, place: dict[str, Any], pieces: Pieces
) -> Iterator[None]:
    for index, part in enumerate(item.content):
        where = {**place, "content_index": index}
        empty = Refusal(refusal="") if isinstance(part, Refusal) else OutputText(text="")
        writer.emit(events.ResponseContentPartAddedEvent(**where, part=empty))
        for piece in pieces(
            part.refusal if isinstance(part, Refusal) else getattr(part, "text", "")
        ):
            kind = (
                events.ResponseRefusalDeltaEvent
                if isinstance(part, Refusal)
                else events.ResponseTextDeltaEvent
            )
            writer.emit(kind(**where, delta=piece))
            yield
        writer.emit(events.ResponseContentPartDoneEvent(**where, part=part))


def _reasoning(
    writer: ResponseWriter, item: Reasoning, place: dict[str, Any], pieces: Pieces
) -> Iterator[None]:
    for index, part in enumerate(item.summary):
        for piece in pieces(part.text):
            writer.emit(
                events.ResponseReasoningSummaryTextDeltaEvent(
                    **place, summary_index=index, delta=piece
                )
            )
            yield
    for index, raw in enumerate(item.content or []):
        for piece in pieces(raw.text):
            writer.emit(
                events.ResponseReasoningTextDeltaEvent(**place, content_index=index, delta=piece)
            )
            yield
