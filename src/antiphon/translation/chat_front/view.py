"""How the answer to a chat completion is written, and how its errors name parameters."""

import re
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from antiphon.errors import AntiphonError, ClientError

E = TypeVar("E", bound=AntiphonError)

_ITEM = re.compile(r"input\[(\d+)\]")
_RENAMED = (
    ("text.format.schema", "response_format.json_schema.schema"),
    ("text.format", "response_format"),
    ("text.verbosity", "verbosity"),
    ("reasoning.effort", "reasoning_effort"),
    ("reasoning", "reasoning_effort"),
    ("input", "messages"),
)
"""Beginnings of parameters of a response, and the names that a chat completion has for them."""

_FUNCTION = re.compile(r"(tools\[\d+\])\.(name|description|parameters|strict)\b")


class ChatView(Struct, frozen=True):
    """What the answer needs to know of the request."""

    model: str
    answers: int = 1
    is_stream: bool = False
    shows_usage: bool = False
    is_legacy: bool = False
    """Whether calls are written as `function_call`."""
    limit: str = "max_completion_tokens"
    """The name under which the client limits the answer."""
    places: Sequence[int] = ()
    """The index of the message of each item."""

    def place(self, param: str) -> str:
        """Return the client's own name of a parameter."""
        found = _ITEM.match(param)
        if found is not None and int(found[1]) < len(self.places):
            return f"messages[{self.places[int(found[1])]}]"
        if param == "max_output_tokens":
            return self.limit
        for name, own in _RENAMED:
            if param.startswith(name):
                return own + param.removeprefix(name)
        return _FUNCTION.sub(r"\1.function.\2", param)

    def named(self, error: E) -> E:
        """Return the error with the client's name of its parameter."""
        error.message, error.param = self.renamed(error.message, error.param)
        return error

    def renamed(self, message: str, param: str | None) -> tuple[str, str | None]:
        """Return the message of an error, and its parameter, with the client's name of it."""
        if not param:
            return message, param
        own = self.place(param)
        return message.replace(f"'{param}'", f"'{own}'"), own


def unsupported(param: str, what: str) -> ClientError:
    """Return the error for what only a backend with Chat Completions can do."""
    return ClientError(
        f"{what} is not supported here, because this request is answered as a response: its model "
        "is not reached through Chat Completions, or the server runs tools for it. Remove it, or "
        "use a model of a backend with Chat Completions.",
        code="unsupported_parameter",
        param=param,
    )


def invalid(param: str, what: str) -> ClientError:
    """Return the error for a part of a message that is not valid."""
    return ClientError(what, code="invalid_value", param=param)
