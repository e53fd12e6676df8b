"""A reply as a value: endpoints return it, and the exchange sends it."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import quote

import msgspec
from msgspec import Struct

from antiphon.gateway import IGNORED, Run

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application as the ASGI specification has it. These five are its types."""

RawHeaders = list[tuple[bytes, bytes]]

BACKEND = "antiphon-backend"
"""The header with the name of the backend that answers."""

CACHE = "antiphon-cache"
"""The header with which a request sets the cache, and a reply says what it was to it."""

JSON: RawHeaders = [(b"content-type", b"application/json")]

_encode = msgspec.json.Encoder().encode


class ClientGone(Exception):  # noqa: N818 - nothing went wrong, there is only nobody left to answer
    """The client closed its connection."""


class Sink(Protocol):
    """The exchange, as a streamed reply sees it."""

    receive: Receive

    async def start(self, status: int, headers: RawHeaders) -> None:
        """Send the head of the reply."""
        ...

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """Send a part of its body; the last one without more."""
        ...


class ReplyStream(Protocol):
    """A body that comes in parts, and the head before it, which may depend on the first of them."""

    async def send(self, sink: Sink) -> None:
        """Send all of it. Raises `ClientGone` when the client leaves."""
        ...


class Reply(Struct, frozen=True):
    """Status, headers and body. A stream sends its own head."""

    status: int
    headers: RawHeaders
    body: bytes | ReplyStream


def json_reply(value: Any, headers: RawHeaders | None = None, status: int = 200) -> Reply:
    """Return a reply of JSON."""
    return Reply(status, JSON + headers if headers else JSON, _encode(value))


def stream_reply(stream: ReplyStream) -> Reply:
    """Return a reply that is streamed."""
    return Reply(200, [], stream)


def run_headers(run: Run) -> RawHeaders:
    """Return the headers that say how a response is made, as far as that is known."""
    headers = ignored_header(run.ignored_tools) if run.ignored_tools else []
    headers.append((BACKEND.encode(), plain_name(run.backend)))
    if run.cache:
        headers.append((CACHE.encode(), run.cache.encode()))
    if run.similarity:
        headers.append((f"{CACHE}-similarity".encode(), b"%.3f" % run.similarity))
    return headers


def ignored_header(types: Any) -> RawHeaders:
    """Return the header that names the types of tools which the model is not offered."""
    return [(IGNORED.encode(), ", ".join(types).encode())] if types else []


@lru_cache(1000)
def plain_name(name: str) -> bytes:
    """Return an operator's name for something as a header can hold it."""
    return quote(name, safe=" !#$&'()*+,/:;=?@[]").encode()


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Return headers as ASGI has them."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]
