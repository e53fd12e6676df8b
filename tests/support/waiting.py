"""Where tests wait: for something to become so, or for other tasks to take their turns, never for
time to pass.

`tests/unit/test_tests.py` allows `sleep` only here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

PATIENCE = 30.0
"""Seconds after which what was expected is given up."""
TURNS = 50
"""Turns of the loop in which most things become so; after them it is asked only now and then."""
PAUSE = 0.005
"""Seconds between two questions from then on."""

T = TypeVar("T")


class LoopClock:
    """The clock of the running event loop (asyncio's own), which a test moves forward instead of
    waiting.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._ahead = 0.0
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)

    def advance(self, seconds: float) -> None:
        """Let so much time have passed: timers that are due by then run in the next turn."""
        self._ahead += seconds

    async def eventually(
        self, request: Callable[[], Awaitable[T]], is_so: Callable[[T], object] = bool
    ) -> T:
        """Ask as `eventually` does; between two questions a quarter of a second of this clock
        passes.

        So what waits for a timer needs no real time, and what waits for a socket has some.

        Raises:
            TimeoutError: it is not so after half a real minute.
        """
        left = iter(range(int(PATIENCE / PAUSE)))

        def pass_time() -> None:
            if next(left, None) is None:
                raise TimeoutError
            self.advance(0.25)

        return await _requested(request, is_so, pass_time)

    async def until(self, holds: Callable[[], T]) -> T:
        """Wait as `until` does, in the time of this clock."""

        async def request() -> T:
            return holds()

        return await self.eventually(request)


async def let_others_run(turns: int = 1) -> None:
    """Let every task that is ready take so many turns of the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def drip(seconds: float) -> None:
    """Pause between two pieces, in a server that is slow on purpose and would otherwise only burn
    CPU.
    """
    await asyncio.sleep(seconds)


async def eventually(
    request: Callable[[], Awaitable[T]],
    is_so: Callable[[T], object] = bool,
    patience: float = PATIENCE,
) -> T:
    """Ask again until the answer is so, and return it.

    Raises:
        TimeoutError: it is not so after `patience` seconds.
    """
    async with asyncio.timeout(patience):
        return await _requested(request, is_so, lambda: None)


async def _requested(
    request: Callable[[], Awaitable[T]], is_so: Callable[[T], object], pass_time: Callable[[], None]
) -> T:
    requested = 0
    while not is_so(answer := await request()):
        requested += 1
        if requested >= TURNS:
            pass_time()
        await asyncio.sleep(0 if requested < TURNS else PAUSE)
    return answer


async def until(holds: Callable[[], T], patience: float = PATIENCE) -> T:
    """Let other tasks, threads and processes run until something holds, and return it.

    Raises:
        TimeoutError: it does not hold after `patience` seconds.
    """

    async def request() -> T:
        return holds()

    return await eventually(request, patience=patience)


async def ended(sdk: AsyncOpenAI, response_id: str) -> Response:
    """Retrieve a background response until it has ended."""
    return await eventually(
        lambda: sdk.responses.retrieve(response_id),
        lambda one: one.status not in ("queued", "in_progress"),
    )
