"""One event loop in a thread of its own, for programs that call without `await`."""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import thread as _executors  # noqa: F401 - registers its hook
from contextlib import suppress
from typing import Any, TypeVar

from antiphon.library.service import CLOSED

T = TypeVar("T")

FORKED = (
    "This client was used before the process forked, and its thread and its connections stayed "
    "behind. Create a client in each process, after the fork."
)

INSIDE = (
    "A synchronous client was called from code that it runs itself, such as a backend or a tool, "
    "and would wait for itself. Use AsyncAntiphon there."
)


class BackgroundLoop:
    """Runs coroutines for threads that wait for them.

    Its own thread starts with the first coroutine, and ends with `close`, which runs `last` there,
    or with the program.
    """

    def __init__(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._last = last
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0
        self._is_closed = False
        self._changing = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. Raises `RuntimeError` if it cannot run.

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
        """Call something in the loop, if the loop still runs."""
        with suppress(RuntimeError):
            if self._loop is not None and self._process == os.getpid():
                self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        """Run the last coroutine, if any ran before, and end the thread.

        Closing again does nothing.
        """
        with self._changing:
            was_closed = self._is_closed
            self._is_closed = True
            loop = self._loop
            thread = self._thread
        if was_closed or loop is None or thread is None or self._process != os.getpid():
            return
        if (
            thread is threading.current_thread()
        ):  # the collector found the client while the loop ran
            loop.create_task(self._last()).add_done_callback(lambda _: loop.stop())
            return
        try:
            asyncio.run_coroutine_threadsafe(self._last(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _begin(self) -> asyncio.AbstractEventLoop:
        with self._changing:
            if self._is_closed:
                raise RuntimeError(CLOSED.format(what="client"))
            if self._loop is None:
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="antiphon", daemon=True
                )
                self._thread.start()
                _open.add(self)
            elif self._process != os.getpid():
                raise RuntimeError(FORKED)
            elif self._thread is threading.current_thread():
                raise RuntimeError(INSIDE)
            return self._loop


class LoopOwner:
    """Owns a loop, and closes it when `close` is called or when nothing refers to the owner any
    more.
    """

    def __init__(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.loop = BackgroundLoop(last)
        self.close = weakref.finalize(self, self.loop.close)
        self.close.atexit = False  # the loop itself ends with the program

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """See `BackgroundLoop.run`."""
        return self.loop.run(work)


_open: "weakref.WeakSet[BackgroundLoop]" = weakref.WeakSet()


def _close_all() -> None:
    """Close what is still open when the program ends."""
    for loop in list(_open):
        with suppress(Exception):  # what was acknowledged is stored already
            loop.close()


# Closing needs executors. Their own hook ends them before `atexit` runs; this hook is registered
# later, so it runs earlier.
getattr(threading, "_register_atexit", atexit.register)(_close_all)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then end its remaining work."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
