"""Translates both APIs into each other: requests in one direction, responses in the other. No I/O.

| To | Use |
|---|---|
| translate one request and its answer | `Translator` |
| translate chunks to events | `decode_chunk`, `EventDecoder`, `ChatStream`, `ResponseWriter`, `conclude`, `encode` |
| translate requests to Chat Completions | `decode_request`, `normalise_input`, `find_dialect`, `to_chat` |

Each name is loaded at its first use. The package's own modules import each other, and never these
names.
"""  # noqa: E501 - a table, a diagram or an example

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.protocol.requests import CreateResponse
    from antiphon.protocol.validation.validate import decode_request
    from antiphon.translate import Translator
    from antiphon.translation.dialects.dialect import Dialect
    from antiphon.translation.dialects.table import find_dialect
    from antiphon.translation.from_chat.decode import decode_chunk
    from antiphon.translation.from_chat.reader import ChatStream
    from antiphon.translation.to_chat_completions.request import normalise_input, to_chat
    from antiphon.translation.wire import EventDecoder, conclude, encode
    from antiphon.translation.writer import ResponseWriter

__all__ = [
    "ChatStream",
    "CreateResponse",
    "Dialect",
    "EventDecoder",
    "ResponseWriter",
    "Translator",
    "conclude",
    "decode_chunk",
    "decode_request",
    "encode",
    "find_dialect",
    "normalise_input",
    "to_chat",
]

_HOMES = {
    "antiphon.protocol.requests": ("CreateResponse",),
    "antiphon.protocol.validation.validate": ("decode_request",),
    "antiphon.translate": ("Translator",),
    "antiphon.translation.dialects.dialect": ("Dialect",),
    "antiphon.translation.dialects.table": ("find_dialect",),
    "antiphon.translation.from_chat.decode": ("decode_chunk",),
    "antiphon.translation.from_chat.reader": ("ChatStream",),
    "antiphon.translation.to_chat_completions.request": ("normalise_input", "to_chat"),
    "antiphon.translation.wire": ("EventDecoder", "conclude", "encode"),
    "antiphon.translation.writer": ("ResponseWriter",),
}
"""The module of each name, which is loaded when the name is first used: a server needs no
`Translator`.
"""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def __dir__() -> list[str]:
        return __all__
