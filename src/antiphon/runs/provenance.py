"""The data that the model received and did not generate: the users' words, and the output
of tools.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import msgspec

from antiphon.protocol.items.calls import CustomToolCall, ShellCallOutput
from antiphon.protocol.items.hosted import CodeInterpreterCall
from antiphon.protocol.items.messages import FunctionCall, InputItem, Message
from antiphon.protocol.requests import CreateResponse, opening_of
from antiphon.translation.to_chat_completions.hosted import state_of
from antiphon.translation.to_chat_completions.reasoning import Unseal


@dataclass(frozen=True, slots=True)
class _Received:
    """A text, and what the model wrote to get it: a tool can repeat its own arguments."""

    text: str
    requested: str = ""

    def has(self, text: str) -> bool:
        return text in self.text and text.casefold() not in self.requested


def provenance_of(
    request: CreateResponse, items: Sequence[InputItem], unseal: Unseal
) -> Callable[[str], bool]:
    """Return whether a text occurs word for word in the data that the model received."""

    @cache
    def provided() -> list[_Received]:
        calls = {
            str(item.call_id): _written(item)
            for item in items
            if isinstance(item, FunctionCall | CustomToolCall)
        }
        seen = (*opening_of(request), *items)
        texts = (
            _of(item, unseal, calls.get(str(getattr(item, "call_id", "")), "")) for item in seen
        )
        return [_Received(request.instructions or ""), *chain.from_iterable(texts)]

    return lambda text: any(one.has(text) for one in provided())


def _of(item: InputItem, unseal: Unseal, requested: str) -> Iterator[_Received]:
    if isinstance(item, Message):
        if item.role != "assistant":
            yield from map(_Received, _words(item.content))
        return
    if isinstance(item, CodeInterpreterCall | ShellCallOutput):
        return  # the model wrote the code, which can print any text
    # Searches and pages do not repeat what the model wrote (`antiphon.tools.web`).
    requested = requested or _written(item)
    for content in (getattr(item, "output", None), state_of(item, unseal).get("said")):
        yield from (_Received(text, requested) for text in _words(content))


def _written(item: InputItem) -> str:
    """Return what the model wrote into a call: the input of a custom tool, or all texts
    of a function's arguments.
    """
    written = getattr(item, "input", None)
    return (
        written.casefold()
        if isinstance(written, str)
        else _strings(getattr(item, "arguments", None))
    )


def _strings(arguments: Any) -> str:
    """Return the texts in a JSON value, with escapes decoded; if the text is not JSON,
    all of it.
    """
    if not isinstance(arguments, str):
        return ""
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return arguments.casefold()
    texts = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            texts.append(one.casefold())
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
    return "\n".join(texts)


def _words(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, dict) else getattr(part, "text", None)
            if isinstance(text, str):
                yield text
