"""Ends a response when its handler waits for the client.

What such a handler awaits never returns: it is cancelled when nothing else runs.

    a question is sent           new steps, calls and items have to wait
    steps, calls and items run   they end, and are recorded
    nothing runs                 the response ends with the questions; the handler is cancelled

So the questions of work side by side are in one response.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from antiphon.agents.errors import AgentError
from antiphon.protocol.items.content import Item

ROUNDS = 16
"""Rounds of the event loop in which nothing may run before the response ends: a handler that has
received a result asks its next question soon.
"""

_is_busy: ContextVar[bool] = ContextVar("is_busy", default=False)
"""Whether the code is a part of something that the end of the response waits for."""


class ClientQuestion(Struct, frozen=True):
    """A question to the client: an output item, and the step that waits for the answer."""

    key: str
    digest: bytes
    item: Item


class RunPause:
    """Decides when a response ends because its handler waits.

    `announce` is called then; `is_done` is whether the handler has ended itself.
    """

    def __init__(self, announce: Callable[[], None], is_done: Callable[[], bool]) -> None:
        self.is_over = False
        """Whether the response ends: the handler can do nothing more."""
        self.error: AgentError | None = None
        """Why it fails then."""
        self._announce = announce
        self._is_done = is_done
        self._waiting: dict[asyncio.Future[None], Sequence[ClientQuestion]] = {}
        self._running = 0
        self._changed = asyncio.Event()
        self._deciding: asyncio.Task[None] | None = None

    @property
    def questions(self) -> list[ClientQuestion]:
        """The questions, in the order of their beginning."""
        return [one for group in self._waiting.values() for one in group]

    async def admit(self) -> None:
        """Return when new work can begin. Raises `CancelledError` if the response ends."""
        while not self.is_over and self._waiting and not _is_busy.get():
            self._changed.clear()
            await self._changed.wait()
        self.check()

    def check(self) -> None:
        """Raise `CancelledError` if the response ends."""
        if self.is_over:
            raise asyncio.CancelledError

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let the response not end in a block, nor what begins there wait."""
        self.check()
        self._running += 1
        was_busy = _is_busy.get()
        _is_busy.set(True)
        try:
            yield
        finally:
            _is_busy.set(was_busy)  # not by a token: a thread leaves the block in another context
            self._running -= 1
            self._changed.set()

    async def wait_for_client(self, questions: Sequence[ClientQuestion]) -> None:
        """Wait for the client, never to return: raises `CancelledError` when the response ends.

        Raises `RuntimeError` within a step or an open item.
        """
        self.check()
        if _is_busy.get():
            raise RuntimeError(
                "A handler cannot wait for its client within a step or an open message: the "
                "response ends meanwhile. Ask before the step, or after the message."
            )
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = questions
        if self._deciding is None:
            self._deciding = asyncio.create_task(self._decide())
        try:
            await answer
        finally:
            if not self.is_over:  # it has a time limit of its own, for example
                del self._waiting[answer]
                self._changed.set()

    def fail(self, error: AgentError) -> None:
        """Let the response fail instead of ask."""
        self.error = self.error or error

    async def _decide(self) -> None:
        quiet = 0
        while self._waiting and quiet < ROUNDS:
            if self._running:
                quiet = 0
                self._changed.clear()
                await self._changed.wait()
            else:
                quiet += 1
                await asyncio.sleep(0)
        self._deciding = None
        if not self._waiting or self._is_done():
            return
        self.is_over = True
        for answer in self._waiting:
            answer.cancel()
        self._changed.set()
        self._announce()

    def close(self) -> None:
        """Decide nothing any more."""
        if self._deciding is not None:
            self._deciding.cancel()
