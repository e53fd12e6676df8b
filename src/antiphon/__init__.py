"""The complete, stateful OpenAI Responses API over any Chat Completions backend.

| To | Use |
|---|---|
| call the API in your program, without a server | `Antiphon`, `AsyncAntiphon` |
| run a program that uses the `openai` package on Antiphon | `http_client`, `async_http_client` |
| serve the API, or mount it in another application | `asgi` |
| configure it | `Settings`, `BackendConfig`, `McpServerConfig`, `ModelConfig`, `PromptConfig`, `load_settings` |
| match items and stream events by type | `types` |
| translate one request and its answer, without I/O | `Translator` |
| translate chunks to events, by pieces | `decode_chunk`, `EventDecoder`, `ChatStream`, `ResponseWriter`, `encode` |
| translate requests to Chat Completions, by pieces | `decode_request`, `normalise_input`, `find_dialect`, `to_chat` |
| test your program with answers that you write | `ScriptedBackend` |
| check any server's event stream | `antiphon.testing.check_event_stream` |

Each name is loaded at its first use: `import antiphon` alone loads nothing else.

>>> from antiphon import Antiphon
>>> with Antiphon() as client:
...     print(client.responses.create(model="demo", input="Hello!").status)
completed
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon import types
    from antiphon.config import BackendConfig, McpServerConfig, ModelConfig, PromptConfig, Settings, load_settings
    from antiphon.errors import AntiphonError, BackendError, ClientError, ConfigError, StoreError
    from antiphon.library.asgi_app import asgi
    from antiphon.library.async_client import AsyncAntiphon
    from antiphon.library.sync_client import Antiphon
    from antiphon.library.transport import async_http_client, http_client
    from antiphon.protocol.requests import CreateResponse
    from antiphon.protocol.response import Response
    from antiphon.protocol.validation.validate import decode_request
    from antiphon.translate import Translator
    from antiphon.translation.dialects.dialect import Dialect
    from antiphon.translation.dialects.table import find_dialect
    from antiphon.translation.from_chat.decode import decode_chunk
    from antiphon.translation.from_chat.reader import ChatStream
    from antiphon.translation.to_chat.request import normalise_input, to_chat
    from antiphon.translation.wire import EventDecoder, conclude, encode
    from antiphon.translation.writer import ResponseWriter
    from antiphon.upstream.scripted import ScriptedBackend
    from antiphon.version import __version__

__all__ = [
    "Antiphon",
    "AntiphonError",
    "AsyncAntiphon",
    "BackendConfig",
    "BackendError",
    "ChatStream",
    "ClientError",
    "ConfigError",
    "CreateResponse",
    "Dialect",
    "EventDecoder",
    "McpServerConfig",
    "ModelConfig",
    "PromptConfig",
    "Response",
    "ResponseWriter",
    "ScriptedBackend",
    "Settings",
    "StoreError",
    "Translator",
    "__version__",
    "asgi",
    "async_http_client",
    "conclude",
    "decode_chunk",
    "decode_request",
    "encode",
    "find_dialect",
    "http_client",
    "load_settings",
    "normalise_input",
    "to_chat",
    "types",
]

_HOMES = {
    "antiphon.config": ("BackendConfig", "McpServerConfig", "ModelConfig", "PromptConfig", "Settings", "load_settings"),
    "antiphon.errors": ("AntiphonError", "BackendError", "ClientError", "ConfigError", "StoreError"),
    "antiphon.library.asgi_app": ("asgi",),
    "antiphon.library.async_client": ("AsyncAntiphon",),
    "antiphon.library.sync_client": ("Antiphon",),
    "antiphon.library.transport": ("async_http_client", "http_client"),
    "antiphon.protocol.requests": ("CreateResponse",),
    "antiphon.protocol.response": ("Response",),
    "antiphon.protocol.validation.validate": ("decode_request",),
    "antiphon.translate": ("Translator",),
    "antiphon.translation.dialects.dialect": ("Dialect",),
    "antiphon.translation.dialects.table": ("find_dialect",),
    "antiphon.translation.from_chat.decode": ("decode_chunk",),
    "antiphon.translation.from_chat.reader": ("ChatStream",),
    "antiphon.translation.to_chat.request": ("normalise_input", "to_chat"),
    "antiphon.translation.wire": ("EventDecoder", "conclude", "encode"),
    "antiphon.translation.writer": ("ResponseWriter",),
    "antiphon.upstream.scripted": ("ScriptedBackend",),
    "antiphon.version": ("__version__",),
}
"""The module of each name, which is loaded when the name is first used, so that a command loads what it needs."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "types":
            return import_module("antiphon.types")
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def __dir__() -> list[str]:
        return __all__
