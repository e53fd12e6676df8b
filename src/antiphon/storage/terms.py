"""A thread that computes the terms of chunks: neither the event loop nor the writer of a store
waits for it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor

from antiphon.storage.operations.chunk_parts import K, Termed, parts_of

REST = 0.0002
"""Seconds that the thread sleeps after a chunk. Else the event loop waits 5 ms whenever it needs
Python's lock.
"""


class TermThread:
    """One thread of a store, which starts on first use. Callers take turns, a part at a time."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def parts(self, chunks: Iterable[tuple[K, str, int]]) -> AsyncIterator[list[Termed[K]]]:
        """Yield the parts of chunks; see `parts_of`."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "antiphon-terms")
        parts = parts_of(chunks, lambda: time.sleep(REST))
        loop = asyncio.get_running_loop()
        while part := await loop.run_in_executor(self._thread, next, parts, None):
            yield part

    def close(self) -> None:
        """Release the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None
