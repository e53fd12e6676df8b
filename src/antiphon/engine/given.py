"""What the model was given, and did not make up: the users' words, and what tools answered (threat 22)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.chat.hosted import state_of
from antiphon.chat.sealed import Unseal
from antiphon.protocol.items import InputItem, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_items import CustomToolCall


def givens(request: CreateResponse, items: Sequence[InputItem], unseal: Unseal) -> Callable[[str], bool]:
    """Return whether a text stands word for word in what the model was given."""
    asked = {call_id: _asked(item) for item in items if (call_id := getattr(item, "call_id", None))}
    texts = [(request.instructions or "", "")]
    texts += [(text, _own(item, asked)) for item in items for text in _texts(item, unseal)]
    return lambda text: any(text in each and text not in own for each, own in texts)


def _own(item: InputItem, asked: Mapping[str, str]) -> str:
    """Return what the model itself had said to whatever answered here: an echo of that gives it nothing."""
    return _asked(item) or asked.get(str(getattr(item, "call_id", None)), "")


def _asked(item: InputItem) -> str:
    """Return the strings in a call's arguments, or its raw input; empty for what is no call."""
    if isinstance(item, CustomToolCall):
        return item.input
    arguments = getattr(item, "arguments", None)
    try:
        value = msgspec.json.decode(arguments) if isinstance(arguments, str) else None
    except (msgspec.DecodeError, RecursionError):
        return str(arguments)
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _texts(item: InputItem, unseal: Unseal) -> Iterator[str]:
    if isinstance(item, Message):
        if item.role != "assistant":
            yield from _words(item.content)
        return
    yield from _words(getattr(item, "output", None))
    yield from _words(state_of(item, unseal).get("said"))


def _words(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, dict) else getattr(part, "text", None)
            if isinstance(text, str):
                yield text
