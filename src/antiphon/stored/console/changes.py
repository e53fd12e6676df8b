"""Responses as they begin, change and end, for open lists of the console.

One task of a process looks at the store while a list is open. It encodes each change once, and passes it to all
watchers with filters that match. Responses that this process is making are not in the store before they end, so it
shows them itself.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from antiphon.errors import StoreError
from antiphon.protocol.response_filters import Filters
from antiphon.storage.contract import Facts, Store
from antiphon.stored.console.matching import matches

EVERY = 0.5
"""Seconds between two looks at the store, and between two batches for one watcher."""

OVERLAP = 200
"""Rows that are read again: another server may have written one of them after the place of this one was known."""

MOST_WAITING = 20
"""Changes that wait for one watcher; the oldest are skipped, and counted. A person reads no more in half a second."""

MOST_RUNNING = 100
"""Running responses that one list shows: the newest."""

MOST_KNOWN = 5_000
"""Changes that are remembered, more than a process makes responses at once: what is known is not handed on again."""

CHECKS_AT_ONCE = 500
"""Changes that are compared with filters before the event loop serves others."""

PING_AFTER = 15.0
"""Seconds of silence after which a watcher gets an empty batch."""

Names = Mapping[str, str]

Encode = Callable[[Facts, Names], bytes]
"""Encodes a change; the names are those of API keys, by id."""

Channel = tuple[str | None, Filters]
"""What a list shows: a tenant, or all for None, and filters."""


class Batch(Struct, frozen=True):
    """Changes for one watcher, oldest first, and how many before them it missed."""

    changed: Sequence[bytes] = ()
    skipped: int = 0


class Watcher:
    """One open list."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._skipped = 0
        self.news = asyncio.Event()

    def see(self, changed: Sequence[bytes], skipped: int = 0) -> None:
        """Keep the newest changes; `skipped` were before them."""
        self._skipped += skipped + max(0, len(self._waiting) + len(changed) - MOST_WAITING)
        self._waiting.extend(changed)
        self.news.set()

    def take(self) -> Batch:
        """Return what it has not seen."""
        batch = Batch(list(self._waiting), self._skipped)
        self._waiting.clear()
        self._skipped = 0
        self.news.clear()
        return batch


class Changes:
    """The changes of one store. `running` returns the facts of what this process is making, but of known ids."""

    def __init__(
        self,
        store: Store,
        running: Callable[[Container[str]], Sequence[Facts]],
        load_names: Callable[[Sequence[str]], Awaitable[Names]],
        encode: Encode,
    ) -> None:
        self._store, self._running, self._load_names, self._encode = store, running, load_names, encode
        self._channels: dict[Channel, set[Watcher]] = {}
        self._task: asyncio.Task[None] | None = None
        self._placed = asyncio.Event()
        """Set once the newest row of the store is known."""
        self._known: dict[str, tuple[str, int | None]] = {}
        """The status and the end of responses that were handed on lately, by id."""

    async def watch(self, tenant: str | None, filters: Filters) -> AsyncGenerator[Batch, None]:
        """Give batches of changes until the caller stops: the first as soon as no change is missed, then after changes.

        The first one has what is being made; one after a silence is empty.
        """
        channel, watcher = (tenant, filters), Watcher()
        self._channels.setdefault(channel, set()).add(watcher)
        if self._task is None:
            self._placed.clear()
            self._task = asyncio.get_running_loop().create_task(self._look())
        try:
            await self._placed.wait()
            running = newest([one for one in self._running(()) if _passes(one, channel)])
            names = await self._load_names([one.key_id for one in running])
            yield Batch([self._encode(one, names) for one in running])
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PING_AFTER):
                        await watcher.news.wait()
                yield watcher.take()
                await asyncio.sleep(EVERY)
        finally:
            self._channels[channel].discard(watcher)
            if not self._channels[channel]:
                del self._channels[channel]

    async def _look(self) -> None:
        place: int | None = None
        try:
            while self._channels:
                with suppress(StoreError):  # the next look comes
                    behind = None if place is None else max(0, place - OVERLAP)
                    newest, changed = await self._store.changed_facts(behind)
                    if place is not None:
                        names = await self._load_names([one.key_id for one in changed])
                        await self._hand_on(changed, names)
                    place = newest if place is None else max(place, newest)
                    self._placed.set()
                await asyncio.sleep(EVERY)
        finally:
            self._task = None
            self._known.clear()

    async def _hand_on(self, changed: Sequence[Facts], names: Names) -> None:
        seen = (*self._running(self._known), *changed)
        new = [one for one in seen if self._known.get(one.id) != (one.status, one.ended)]
        for one in new:
            self._known.pop(one.id, None)
            self._known[one.id] = (one.status, one.ended)
        for id_ in list(self._known)[:-MOST_KNOWN]:
            del self._known[id_]
        encoded: dict[int, bytes] = {}
        checks = 0
        for channel, watchers in list(self._channels.items()):
            checks += len(new)
            if checks > CHECKS_AT_ONCE:
                checks = 0
                await asyncio.sleep(0)
            passing = [one for one in new if _passes(one, channel)]
            shown = passing[-MOST_WAITING:]
            for one in shown:
                if id(one) not in encoded:
                    encoded[id(one)] = self._encode(one, names)
            for watcher in watchers if shown else ():
                watcher.see([encoded[id(one)] for one in shown], len(passing) - len(shown))


def newest(running: Sequence[Facts]) -> list[Facts]:
    """Return the running responses that one list shows, the oldest first."""
    return sorted(running, key=lambda one: one.began)[-MOST_RUNNING:]


def _passes(facts: Facts, channel: Channel) -> bool:
    tenant, filters = channel
    return tenant in (None, facts.tenant) and (filters.is_empty or matches(facts, filters))
