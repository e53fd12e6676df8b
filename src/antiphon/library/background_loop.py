"""One event loop in a thread of its own, for programs that call without `await`."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

CLOSED = "This client is closed. Create another one."

FORKED = (
    "This client was used before the process forked, and its thread and its connections stayed behind. Create a client "
    "in each process, after the fork."
)

INSIDE = (
    "A synchronous client was called from code that it runs itself, such as a backend or a tool, and would wait for "
    "itself. Use AsyncAntiphon there."
)


class BackgroundLoop:
    """Runs coroutines for threads that wait for them. Its own thread begins with the first, and ends with `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0
        self._is_closed = False
        self._changing = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the coroutine returns, once it is done. Raises `RuntimeError` where it cannot run.

        An exception in the waiting thread, such as `KeyboardInterrupt`, cancels the coroutine.
        """
        try:
            loop = self._begin()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def post(self, work: Callable[[], object]) -> None:
        """Have something called in the loop, if it still runs."""
        with suppress(RuntimeError):
            if self._loop is not None and self._process == os.getpid():
                self._loop.call_soon_threadsafe(work)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run the last coroutine, if any ran before, and end the thread. Closing again does nothing."""
        with self._changing:
            was_closed, self._is_closed = self._is_closed, True
            loop, thread = self._loop, self._thread
        if was_closed or loop is None or thread is None or self._process != os.getpid():
            return
        if thread is threading.current_thread():  # the collector found the client while the loop ran
            loop.create_task(last()).add_done_callback(lambda _: loop.stop())
            return
        try:
            asyncio.run_coroutine_threadsafe(last(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _begin(self) -> asyncio.AbstractEventLoop:
        with self._changing:
            if self._is_closed:
                raise RuntimeError(CLOSED)
            if self._loop is None:
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="antiphon", daemon=True)
                self._thread.start()
            elif self._process != os.getpid():
                raise RuntimeError(FORKED)
            elif self._thread is threading.current_thread():
                raise RuntimeError(INSIDE)
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then end what is left of its work."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
