"""Waits for tool calls that run in parallel, and for the progress that they report meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from antiphon.protocol.tool_bindings import Kind

REPORTING: frozenset[Kind] = frozenset({"image_generation"})
"""Tools that report progress during a call."""


async def as_they_end(
    tasks: Sequence["asyncio.Task[Any]"], progress: asyncio.Event | None
) -> AsyncGenerator[bool, None]:
    """Yield True whenever a task is done, and False whenever there is `progress`.

    Raises the errors of the tasks.
    """
    if progress is None:
        for task in asyncio.as_completed(tasks):
            await task
            yield True
        return
    waiting: set[asyncio.Future[Any]] = set(tasks)
    while waiting:
        news = asyncio.ensure_future(progress.wait())
        try:
            done, _ = await asyncio.wait([*waiting, news], return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        if progress.is_set():
            progress.clear()
            yield False
        for task in done - {news}:
            waiting.discard(task)
            await task
            yield True


async def cancel(tasks: Sequence["asyncio.Future[Any]"]) -> None:
    """Cancel tasks, and wait until all have ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
