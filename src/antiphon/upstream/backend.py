"""What the engine asks of a backend: a Chat Completions server, real or scripted."""

import math
from collections.abc import AsyncIterable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from antiphon.errors import BackendError

carried: ContextVar[Mapping[str, str]] = ContextVar("carried", default=MappingProxyType({}))
"""Headers that go along with whatever this task asks of a backend: who traces a request says so to which trace it
belongs."""


sent_as: ContextVar[str] = ContextVar("sent_as", default="application/json")
"""The type of the bodies that this task posts to a backend: a form, for images that are sent to be changed."""


class Reply(Struct, eq=False):
    """A backend's HTTP answer whose body is still coming.

    `headers` is asked by lower-case names. Iterate `body` once for the bytes as they arrive, in whatever cuts;
    it raises `BackendError` where the connection breaks. `close()` is idempotent and ends the exchange at once;
    whoever got the reply calls it.

    A body that falls silent is ended, with one limit until the answer begins and another from then on. It begins with
    its first byte, unless who reads it knows better and sets `has_begun`: what comes first may say nothing yet.
    `idle_timeout`, in seconds, is the second limit, for who can tell bytes from tokens.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncIterable[bytes]
    idle_timeout: float = math.inf
    has_begun: Callable[[], bool] = lambda: True

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower case; empty where the backend sent none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """Return the whole body. Raises `BackendError` where it is larger than `limit` bytes."""
        parts, size = [], 0
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
    """Return the error for an answer of more than `limit` bytes."""
    return BackendError(f"The backend's answer is larger than {limit} bytes.")


@dataclass(frozen=True, slots=True)
class Listing:
    """What `GET /models` said: the model objects as they came, and the `server` header ("" where absent)."""

    models: list[dict[str, Any]] = field(default_factory=list)
    server: str = ""


class Backend(Protocol):
    """A Chat Completions server.

    A backend makes no retries and changes no byte: policy is the engine's, shape is `chat`'s.
    """

    name: str
    """Unique among the server's backends; appears in logs and in `antiphon models`, never in a client's reply."""

    url: str
    """The base URL, ending in `/v1` or the like; empty for a backend inside this process."""

    async def post(self, path: str, body: bytes) -> Reply:
        """POST a JSON body to `path` (such as `/chat/completions`) and return once the status is known.

        `/../tokenize` is the endpoint beside the `/v1` in which the base URL ends.

        Raises `BackendError` (status 503, code `server_error`) where no connection can be had.
        A 4xx or 5xx of the backend is a `Reply` like any other.
        """
        ...

    async def get(self, path: str) -> Reply:
        """GET `path`, likewise; within a few seconds, for these are questions of the server about the server."""
        ...

    async def list_models(self) -> Listing:
        """GET `/models`. Raises `BackendError` where the backend does not answer a list.

        The error's status is 503 where the backend cannot be reached, its own where it rejects the request (4xx), and
        502 where it fails.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
