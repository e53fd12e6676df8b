"""The complete, stateful OpenAI Responses API over any Chat Completions backend.

| To | Use |
|---|---|
| call the API in your program, without a server | `Antiphon`, `AsyncAntiphon` |
| run a program that uses the `openai` package on Antiphon | `http_client`, `async_http_client` |
| serve the API, or mount it in another application | `asgi` |
| configure it | `Settings`, `BackendConfig`, `McpServerConfig`, `ModelConfig`, `PromptConfig`, `load_settings` |
| match items and stream events by type | `types` |
| translate requests and answers, without I/O | `antiphon.translation.Translator`, and its parts |
| test your program with answers that you write | `ScriptedBackend` |
| check any server's event stream | `antiphon.testing.check_event_stream` |

Each name is loaded at its first use: `import antiphon` alone loads nothing else.

>>> from antiphon import Antiphon
>>> with Antiphon() as client:
...     print(client.responses.create(model="demo", input="Hello!").status)
completed
"""  # noqa: E501 - a table, a diagram or an example

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon import types
    from antiphon.config import (
        BackendConfig,
        McpServerConfig,
        ModelConfig,
        PromptConfig,
        Settings,
        load_settings,
    )
    from antiphon.errors import (
        AntiphonError,
        APITimeoutError,
        AuthenticationError,
        BackendError,
        BadRequestError,
        ClientError,
        ConfigError,
        ConflictError,
        NotFoundError,
        PermissionDeniedError,
        RateLimitError,
        StoreError,
        UnprocessableEntityError,
    )
    from antiphon.library.asgi_app import asgi
    from antiphon.library.async_client import AsyncAntiphon
    from antiphon.library.sync_client import Antiphon
    from antiphon.library.transport import async_http_client, http_client
    from antiphon.upstream.scripted import ScriptedBackend
    from antiphon.version import __version__

__all__ = [
    "APITimeoutError",
    "Antiphon",
    "AntiphonError",
    "AsyncAntiphon",
    "AuthenticationError",
    "BackendConfig",
    "BackendError",
    "BadRequestError",
    "ClientError",
    "ConfigError",
    "ConflictError",
    "McpServerConfig",
    "ModelConfig",
    "NotFoundError",
    "PermissionDeniedError",
    "PromptConfig",
    "RateLimitError",
    "ScriptedBackend",
    "Settings",
    "StoreError",
    "UnprocessableEntityError",
    "__version__",
    "asgi",
    "async_http_client",
    "http_client",
    "load_settings",
    "types",
]

_HOMES = {
    "antiphon.config": (
        "BackendConfig",
        "McpServerConfig",
        "ModelConfig",
        "PromptConfig",
        "Settings",
        "load_settings",
    ),
    "antiphon.errors": (
        "APITimeoutError",
        "AntiphonError",
        "AuthenticationError",
        "BackendError",
        "BadRequestError",
        "ClientError",
        "ConfigError",
        "ConflictError",
        "NotFoundError",
        "PermissionDeniedError",
        "RateLimitError",
        "StoreError",
        "UnprocessableEntityError",
    ),
    "antiphon.library.asgi_app": ("asgi",),
    "antiphon.library.async_client": ("AsyncAntiphon",),
    "antiphon.library.sync_client": ("Antiphon",),
    "antiphon.library.transport": ("async_http_client", "http_client"),
    "antiphon.upstream.scripted": ("ScriptedBackend",),
    "antiphon.version": ("__version__",),
}
"""The module of each name, which is loaded when the name is first used, so that a command loads
what it needs.
"""

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
