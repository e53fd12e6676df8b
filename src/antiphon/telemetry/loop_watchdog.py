"""Measures how long the event loop is blocked: a thread schedules a callback on it, and waits.

While one step of one request runs, every other client waits. The measurement costs requests
nothing: the loop runs one callback of the watchdog a few times per second.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from antiphon.errors import log

EVERY = 0.25
"""Seconds between two measurements."""

LONG = 0.25
"""Seconds after which a stall is logged, with the stack of the loop's thread at that moment."""

LOG_EVERY = 60.0
"""Seconds between two log lines: the cause of a stall usually recurs."""

DEEPEST = 12
"""Frames of the stack in the log, the innermost ones."""


Blame = Callable[[FrameType], str]
"""Returns who blocks the loop, for the log, by the innermost frame of its thread; empty if unknown.
"""


def nothing_known(_: FrameType) -> str:
    """Return no name: the stack shows the code of a server."""
    return ""


class LoopWatchdog:
    """Measures the running loop from `start` to `close`.

    `observe` receives each delay of the loop, in seconds.
    """

    def __init__(
        self,
        observe: Callable[[float], None],
        blame: Blame = nothing_known,
        *,
        every: float = EVERY,
        long: float = LONG,
    ) -> None:
        self._observe = observe
        self._blame = blame
        self._every = every
        self._long = long
        self._ended = threading.Event()
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop_thread = 0
        self._took = 0.0
        """The last delay; 0 until the loop has answered."""
        self._logged = -LOG_EVERY

    def start(self) -> None:
        """Start to measure the loop that runs in this thread."""
        self._loop_thread = threading.get_ident()
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._watch, args=(loop,), name="loop-watchdog", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread. The loop can be about to end too."""
        self._ended.set()
        self._answered.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop was closed
            while not self._ended.wait(self._every):
                self._measure(loop)

    def _measure(self, loop: asyncio.AbstractEventLoop) -> None:
        self._answered.clear()
        if self._ended.is_set():
            # the answer that `close` gave may have been cleared, and the loop's thread
            # waits in `close`
            return
        self._took = 0.0
        requested = time.monotonic()
        loop.call_soon_threadsafe(self._answer, requested)
        stack = None if self._answered.wait(self._long) else self._stack()
        self._answered.wait()
        if stack is not None and self._took and requested - self._logged >= LOG_EVERY:
            self._logged = requested
            log.warning(
                "The event loop was blocked for %.2f s%s; every client waited. It was in:\n%s",
                self._took,
                *stack,
            )

    def _answer(self, requested: float) -> None:
        """Report the delay, on the loop itself: so each measurement wakes it once."""
        self._took = time.monotonic() - requested
        self._answered.set()
        self._observe(self._took)

    def _stack(self) -> tuple[str, str]:
        """Return who blocks the loop, and its stack."""
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return "", "(no stack)"
        return self._blame(frame), "".join(traceback.format_stack(frame)[-DEEPEST:])
