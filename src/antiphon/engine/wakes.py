"""Who waits for news of a response, and is woken by the store's."""

import asyncio
from collections import defaultdict

from antiphon.store.base import Store


class Wakes:
    """Tasks that wait for a change of a response, of the queue (`JOBS`), or of anything."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)

    def listen(self, store: Store) -> None:
        """Hear what this store tells."""
        store.on_change(self.wake)

    def wake(self, what: str) -> None:
        """Wake who waits for it; all of them where it is not known what changed."""
        woken = [self._waiting[what]] if what in self._waiting else [] if what else list(self._waiting.values())
        for events in woken:
            for event in events:
                event.set()

    def expect(self, what: str) -> "Change":
        """Begin to wait: what is told from now on counts. To be used in `with`, around the look at what there is."""
        return Change(self._waiting, what)


class Change:
    """One task's wait; it may be waited for again and again."""

    def __init__(self, waiting: dict[str, set[asyncio.Event]], what: str) -> None:
        self._waiting, self._what = waiting, what
        self._event = asyncio.Event()

    def __enter__(self) -> "Change":
        self._waiting[self._what].add(self._event)
        return self

    def __exit__(self, *error: object) -> None:
        waiting = self._waiting[self._what]
        waiting.discard(self._event)
        if not waiting:
            del self._waiting[self._what]

    async def wait(self, seconds: float) -> None:
        """Return when it changed since the last wait, at the latest after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass
        self._event.clear()
