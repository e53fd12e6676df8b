"""Reads lists of tools a few at a time, so that other tasks do not wait for the event loop
meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from time import monotonic
from typing import TypeVar

from antiphon.sharing.scheduler import FairScheduler

SLICE = 0.004
"""Seconds for which tools are read before other tasks run."""

WAITING = 256
"""Lists that can wait to be read."""

T = TypeVar("T")


async def in_slices(tools: Iterable[T]) -> AsyncIterator[T]:
    """Yield tools, and let other tasks run every few milliseconds."""
    until = monotonic() + SLICE
    for one in tools:
        if monotonic() > until:
            await asyncio.sleep(0)
            until = monotonic() + SLICE
        yield one


def reading_turns() -> FairScheduler:
    """Return the scheduler of the lists that a process reads: one at a time, since all are read on
    one event loop.
    """
    return FairScheduler(1, WAITING)
