"""What backends with an API of their own have in common: an answer of that API as one of Chat
Completions, while it arrives.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from antiphon.errors import BackendError
from antiphon.sizes import LARGE
from antiphon.upstream.backend import Backend, Listing, Reply

P = ParamSpec("P")
T = TypeVar("T")

MAX_ERROR = 1024 * 1024
"""Bytes of an error that are read."""


async def by_size(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a function on a request of `size` bytes: of a large one, from a thread.

    Unlike those of `Offload.run`, the threads are not shared fairly: a backend knows no tenant.
    """
    if size <= LARGE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


class NativeBackend:
    """A server with an API of its own, as a Chat Completions backend.

    `post` of a subclass translates. The rest goes to `backend`, the same server by its base URL.
    """

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self.url = backend.url
        self.backend = backend

    async def get(self, path: str) -> Reply:
        """See `Backend.get`."""
        return await self.backend.get(path)

    async def list_models(self) -> Listing:
        """See `Backend.list_models`."""
        return await self.backend.list_models()

    async def close(self) -> None:
        """See `Backend.close`."""
        await self.backend.close()


class AnswerTranslator(Protocol):
    """Translates the bytes of one answer into those of Chat Completions."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes of a stream; yield the events that they complete.

        Raises `BackendError` for those that cannot be read, after the events before them.
        """

    def finish(self) -> Iterator[bytes]:
        """End the stream; yield its last events. Raises as `feed`."""

    def whole(self, data: bytes) -> bytes:
        """Return a non-streamed answer as a completion."""


class NativeReply(Reply, kw_only=True, eq=False):
    """A reply in the format of Chat Completions, translated from `native`."""

    native: Reply

    async def close(self) -> None:
        """See `Reply.close`."""
        self.native.has_begun = _always  # `native` refers to this reply
        await super().close()
        await self.native.close()


def translated(reply: Reply, answer: AnswerTranslator, *, is_stream: bool) -> Reply:
    """Return an answer of the other API in the format of Chat Completions."""
    kind = "text/event-stream" if is_stream else "application/json"
    chat = NativeReply(
        status=reply.status,
        headers={**reply.headers, "content-type": kind},
        body=_body(reply, answer, is_stream=is_stream),
        idle_timeout=reply.idle_timeout,
        native=reply,
    )
    reply.has_begun = lambda: chat.has_begun()
    return chat


async def read_error(reply: Reply) -> bytes:
    """Return the body of an error; empty if it is incomplete or endless, since the status is
    enough.
    """
    try:
        return await reply.read(MAX_ERROR)
    except BackendError:
        return b""
    finally:
        await reply.close()


def refusal(message: str, code: str | None, param: str | None = "messages") -> Reply:
    """Return the answer to a request that is not sent to the server."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Reply(
        400, {"content-type": "application/json"}, once(msgspec.json.encode({"error": error}))
    )


async def once(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body that is complete."""
    yield body


def _always() -> bool:
    return True


async def _body(
    reply: Reply, answer: AnswerTranslator, *, is_stream: bool
) -> AsyncGenerator[bytes, None]:
    if not is_stream:
        yield answer.whole(await reply.read())
        return
    async for part in reply.body:
        for events in _together(answer.feed(part)):
            yield events
    for events in _together(answer.finish()):
        yield events


def _together(events: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the events of one read in one piece, also those before an error; then raise that."""
    found: list[bytes] = []
    failure: BackendError | None = None
    try:
        found.extend(events)
    except BackendError as error:
        failure = error
    if found:
        yield b"".join(found)
    if failure is not None:
        raise failure
