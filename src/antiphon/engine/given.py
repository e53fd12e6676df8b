"""What the model was given, and did not make up: the users' words, and what tools answered (threat 22)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from antiphon.chat.hosted import state_of
from antiphon.chat.sealed import Unseal
from antiphon.protocol.items import InputItem, Message
from antiphon.protocol.requests import CreateResponse


def givens(request: CreateResponse, items: Sequence[InputItem], unseal: Unseal) -> Callable[[str], bool]:
    """Return whether a text stands word for word in what the model was given."""
    texts = [request.instructions or "", *(text for item in items for text in _texts(item, unseal))]
    return lambda text: any(text in each for each in texts)


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
