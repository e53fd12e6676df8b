"""Events, of a response or of images, as a stream that a program iterates and can close early."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from antiphon.errors import AntiphonError
from antiphon.library.background_loop import LoopOwner
from antiphon.protocol.events import (
    Event,
    ResponseCompletedEvent,
    ResponseFailedEvent,
    ResponseIncompleteEvent,
)
from antiphon.protocol.response import Response

E = TypeVar("E")

Batches = AsyncGenerator[Sequence[Event], None]

CLOSED = "it was closed before its end"
LOST = (
    "the response was deleted, the client was closed, or another process began to make the "
    "response again"
)


class AsyncStream(AsyncIterator[E]):
    """Events as they arrive. Closing it early ends the request.

    Use it in `async with`, or call `close` when you leave the loop early.
    """

    def __init__(self, batches: AsyncGenerator[Sequence[E], None]) -> None:
        self._batches = batches
        self._waiting: deque[E] = deque()

    async def begin(self) -> Self:
        """Wait for the first events; errors of the request are raised here."""
        await self._fill()
        return self

    async def __anext__(self) -> E:
        if not self._waiting and not await self._fill():
            raise StopAsyncIteration
        return self._waiting.popleft()

    async def _fill(self) -> bool:
        """Wait for events that arrive together; return False at the end."""
        async for batch in self._batches:
            if batch:
                self._waiting.extend(batch)
                self._note(batch[-1])
                return True
        return False

    def _note(self, last: E) -> None:
        """Receive the last of the events that have arrived."""

    def take(self) -> list[E]:
        """Return the events that have arrived and were not iterated yet."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    async def close(self) -> None:
        """End the stream, and the work that it shows, unless that is in the background."""
        self._waiting.clear()
        await self._batches.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncResponseStream(AsyncStream[Event]):
    """The events of one response, as they arrive.

    Closing it early stops the model, unless it runs in the background.

    Use it in `async with`, or call `close` when you leave the loop early.
    """

    def __init__(self, batches: Batches) -> None:
        super().__init__(batches)
        self._response: Response | None = None

    def _note(self, last: Event) -> None:
        if isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent):
            self._response = last.response

    async def get_final_response(self) -> Response:
        """Read the stream to its end and return the response.

        Raises `AntiphonError` if the stream has none.
        """
        async for _ in self:
            pass
        return finished(self._response)


class Stream(Iterator[E]):
    """Events as they arrive. Closing it early ends the request.

    Use it in `with`, or call `close` when you leave the loop early.
    """

    def __init__(self, stream: AsyncStream[E], owner: LoopOwner) -> None:
        self._stream = stream
        self._owner = owner
        self._waiting: deque[E] = deque()

    def __next__(self) -> E:
        if not self._waiting:
            self._waiting.extend(self._owner.run(_some(self._stream)))
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def close(self) -> None:
        """End the stream, and the work that it shows, unless that is in the background."""
        self._waiting.clear()
        self._owner.run(self._stream.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class ResponseStream(Stream[Event]):
    """The events of one response, as they arrive.

    Closing it early stops the model, unless it runs in the background.

    Use it in `with`, or call `close` when you leave the loop early.
    """

    def __init__(self, stream: AsyncResponseStream, owner: LoopOwner) -> None:
        super().__init__(stream, owner)
        self._of_response = stream

    def get_final_response(self) -> Response:
        """Read the stream to its end and return the response.

        Raises `AntiphonError` if the stream has none.
        """
        self._waiting.clear()
        return self._owner.run(self._of_response.get_final_response())


async def _some(stream: AsyncStream[E]) -> list[E]:
    """Return the next events that arrived together; none at the end.

    One call to the thread serves all of them.
    """
    try:
        return [await anext(stream), *stream.take()]
    except StopAsyncIteration:
        return []


def finished(response: Response | None) -> Response:
    """Return the response. Raises `AntiphonError` if the stream has none."""
    if response is None:
        raise cut_off(CLOSED)
    return response


def cut_off(reason: str) -> AntiphonError:
    """Return the error for a stream that ended before its response did."""
    message = (
        f"The stream ended before the response: {reason}. Retrieve the response to see its state."
    )
    return AntiphonError(message, status=503, code="stream_cut_off")
