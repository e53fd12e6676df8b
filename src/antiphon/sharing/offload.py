"""Runs work on large data outside the event loop: in threads, which tenants share fairly.

Python's lock passes from thread to thread every 5 ms, so plain Python code in a thread never blocks
the loop for longer. The functions here are written so that no single call into C takes much longer
than that.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from antiphon.sharing.scheduler import FairScheduler
from antiphon.sizes import LARGE

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 2
"""Concurrent pieces of work. They share one lock, so more would not be faster."""


def thread_turns() -> FairScheduler:
    """Return the queue for the threads: a tenant holds one of them."""
    return FairScheduler(THREADS, per_tenant=1)


class Offload:
    """Runs functions in threads, in the turns of `scheduler`.

    Any number can wait: the requests are admitted already, and their bytes are limited
    (`max_bodies`).
    """

    def __init__(self, scheduler: FairScheduler) -> None:
        self._scheduler = scheduler
        self._threads: ThreadPoolExecutor | None = None
        self.prepare: Callable[[], None] | None = None
        """Called once, in a thread of its own before the others: what a process does once large
        data comes to it.
        """

    async def run(
        self, tenant: str, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of a function on `size` bytes of JSON, or on data that takes as long:
        of more than `LARGE` bytes from a thread, as `in_thread`.

        A path on which a further call for each small request costs too much compares the size
        itself.
        """
        if size <= LARGE:
            return function(*args, **kwargs)
        return await self.in_thread(tenant, function, *args, **kwargs)

    async def in_thread(
        self, tenant: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the function's result, once a thread is free for the tenant.

        Raises the function's errors.

        If the caller is cancelled meanwhile, this waits for the function's end: its data is still
        in use.
        """
        if self.prepare is not None:
            prepare = self.prepare
            self.prepare = None
            await asyncio.to_thread(prepare)
        scheduler = self._scheduler
        loop = asyncio.get_running_loop()
        await scheduler.enter(tenant, is_patient=True)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "large-data")
        begun = loop.time()
        done = loop.run_in_executor(self._threads, partial(function, *args, **kwargs))
        try:
            await asyncio.wait({done})
        except asyncio.CancelledError:
            await wait_for_end(done)
            raise
        finally:
            scheduler.leave(tenant, loop.time() - begun)
        try:
            return done.result()
        finally:
            del done  # the raised error refers to this frame, and so to the data

    def close(self) -> None:
        """Release the threads."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


async def wait_for_end(done: "asyncio.Future[T]") -> None:
    """Wait for the end, even if the wait is cancelled repeatedly."""
    while not done.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({done})
    if not done.cancelled():
        done.exception()  # no caller receives it any more
