"""The interface of a backend: a Chat Completions server, real or scripted."""

import math
from collections.abc import AsyncIterable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from antiphon.errors import BackendError

carried: ContextVar[Mapping[str, str]] = ContextVar("carried", default=MappingProxyType({}))
"""Headers that this task adds to all of its requests to a backend, such as the trace context that a
request belongs to.
"""


sent_as: ContextVar[str] = ContextVar("sent_as", default="application/json")
"""The content type of the bodies that this task posts to a backend: a form, for images to edit."""


class Reply(Struct, eq=False):
    """A backend's HTTP response; its body is still arriving.

    `headers` has lower-case names. Iterate `body` once for the bytes as they arrive, split at any
    place; it raises `BackendError` if the connection breaks. `close()` is idempotent and ends the
    exchange at once; the receiver of the reply must call it.

    A silent body is ended, with one time limit until the answer begins and another one afterwards.
    It begins with its first byte, unless the reader sets `has_begun`, because the first bytes can
    be without content. `idle_timeout`, in seconds, is the second limit, for readers that
    distinguish bytes from tokens.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncIterable[bytes]
    idle_timeout: float = math.inf
    has_begun: Callable[[], bool] = lambda: True

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower case; empty if the backend sent none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """Return the whole body. Raises `BackendError` if it is larger than `limit` bytes."""
        parts = []
        size = 0
        async for part in self.body:
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(limit)
        return b"".join(parts)

    async def close(self) -> None:
        """End the exchange, whether or not the body was read to its end."""
        close = getattr(self.body, "aclose", None)
        if close is not None:
            await close()


def too_large(limit: int) -> BackendError:
    """Return the error for a response of more than `limit` bytes."""
    return BackendError(f"The backend's answer is larger than {limit} bytes.")


@dataclass(frozen=True, slots=True)
class Listing:
    """The response to `GET /models`: the model objects as received, and the `server` header ("" if
    absent).
    """

    models: list[dict[str, Any]] = field(default_factory=list)
    server: str = ""


class Backend(Protocol):
    """A Chat Completions server.

    A backend does not retry and changes no byte: the run decides the policy, the translation
    decides the format.
    """

    name: str
    """Unique among the server's backends; appears in logs and in `antiphon models`, never in
    responses to clients.
    """

    url: str
    """The base URL, ending in `/v1` or similar; empty for a backend inside this process."""

    async def post(self, path: str, body: bytes) -> Reply:
        """POST a JSON body to `path` (such as `/chat/completions`) and return once the status is
        known.

        `/../tokenize` is the endpoint next to the `/v1` with which the base URL ends.

        Raises `BackendError` (status 503, code `server_error`) if no connection can be opened.
        A 4xx or 5xx status of the backend is returned as a `Reply` like any other.
        """
        ...

    async def get(self, path: str) -> Reply:
        """GET `path`, with a timeout of a few seconds, because such requests are about the server
        itself.
        """
        ...

    async def list_models(self) -> Listing:
        """GET `/models`. Raises `BackendError` if the backend does not return a list.

        The error's status is 503 if the backend is unreachable, the backend's own if it rejects the
        request (4xx), and 502 if it fails.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def place_of(backend: Backend) -> str:
    """Return the backend's key in the store."""
    return backend.url or backend.name
