"""The complete, stateful OpenAI Responses API over any Chat Completions backend.

| You want | Take |
|---|---|
| the API in your program, without a server | `Responses` |
| one request and its answer translated, without I/O | `Translator` |
| chunks to events, by pieces | `ChatStream`, `ResponseWriter`, `conclude`; `decode_chunk`, `EventDecoder`, `encode` |
| requests to Chat Completions, piece by piece | `decode_request`, `normalise_input`, `tell_dialect`, `to_chat` |
| the API as an ASGI application | `antiphon.server.application.create_app` |
| any server's event stream judged | `antiphon.testing.check_event_stream` |

Below: `protocol` is the two APIs as data, `stream` makes events, `chat` makes requests, `engine` joins them with
`backends` and `store`, `server` and `cli` put them on the wire. Nothing imports upwards.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client import Responses
    from antiphon.errors import AntiphonError, BackendError, ClientError, ConfigError, StoreError
    from antiphon.protocol.requests import CreateResponse
    from antiphon.protocol.response import Response
    from antiphon.protocol.validation.validate import decode_request
    from antiphon.translate import Translator
    from antiphon.translation.dialects.dialect import Dialect
    from antiphon.translation.dialects.table import tell_dialect
    from antiphon.translation.from_chat.decode import decode_chunk
    from antiphon.translation.from_chat.reader import ChatStream
    from antiphon.translation.to_chat.request import normalise_input, to_chat
    from antiphon.translation.wire import EventDecoder, conclude, encode
    from antiphon.translation.writer import ResponseWriter
    from antiphon.version import __version__

__all__ = [
    "AntiphonError",
    "BackendError",
    "ChatStream",
    "ClientError",
    "ConfigError",
    "CreateResponse",
    "Dialect",
    "EventDecoder",
    "Response",
    "ResponseWriter",
    "Responses",
    "StoreError",
    "Translator",
    "__version__",
    "conclude",
    "decode_chunk",
    "decode_request",
    "encode",
    "normalise_input",
    "tell_dialect",
    "to_chat",
]

_HOMES = {
    "antiphon.translation.dialects.dialect": ("Dialect",),
    "antiphon.translation.dialects.table": ("tell_dialect",),
    "antiphon.translation.to_chat.request": ("normalise_input", "to_chat"),
    "antiphon.client": ("Responses",),
    "antiphon.errors": (
        "AntiphonError",
        "BackendError",
        "ClientError",
        "ConfigError",
        "StoreError",
    ),
    "antiphon.protocol.requests": ("CreateResponse",),
    "antiphon.protocol.response": ("Response",),
    "antiphon.protocol.validation.validate": ("decode_request",),
    "antiphon.translation.from_chat.reader": ("ChatStream",),
    "antiphon.translation.from_chat.decode": ("decode_chunk",),
    "antiphon.translation.wire": (
        "EventDecoder",
        "conclude",
        "encode",
    ),
    "antiphon.translation.writer": ("ResponseWriter",),
    "antiphon.translate": ("Translator",),
    "antiphon.version": ("__version__",),
}
"""Where each name comes from. It is loaded when it is first asked for, so that a command loads what it needs."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
