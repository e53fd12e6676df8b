"""Waits for tool calls that are executed in parallel, and for the progress that they report meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from antiphon.protocol.tool_bindings import Kind

REPORTING: frozenset[Kind] = frozenset({"image_generation"})
"""Tools whose calls report progress while they are executed."""


async def ended(
    tasks: Sequence["asyncio.Task[Any]"], progress: asyncio.Event | None
) -> AsyncGenerator["asyncio.Future[Any] | None", None]:
    """Give each task once it is done, and None whenever there is `progress`."""
    if progress is None:
        for task in asyncio.as_completed(tasks):
            yield task  # type: ignore[misc] - it is awaited, and nothing else
        return
    waiting = set(tasks)
    while waiting:
        news = asyncio.ensure_future(progress.wait())
        try:
            done, _ = await asyncio.wait([*waiting, news], return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        if progress.is_set():
            progress.clear()
            yield None
        for task in done - {news}:
            waiting.discard(task)
            yield task
