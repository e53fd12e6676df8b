"""Live changes of responses, for open lists of the console.

While a list is open, one task per process polls the store. It encodes each change once, and passes
it to all watchers with matching filters. Responses that run in this process are not in the store
before they end, so the process shows them itself.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from antiphon.errors import StoreError
from antiphon.query.conditions import Filters
from antiphon.query.matching import matches
from antiphon.storage.operations import facts_detail
from antiphon.storage.records.facts import Facts
from antiphon.storage.store import Store

EVERY = 0.5
"""Seconds between two queries of the store, and between two batches for one watcher."""

OVERLAP = 200
"""Rows to read again: another server may have written one of them after the newest row number was
read.
"""

MOST_WAITING = 20
"""Maximum number of changes that wait for one watcher. People read slowly: the oldest are skipped
and counted.
"""

MOST_RUNNING = 100
"""Maximum number of running responses in one list: the newest."""

MOST_KNOWN = 5_000
"""Maximum number of remembered changes, so that a change is passed on once. It exceeds the
responses of a process.
"""

CHECKS_AT_ONCE = 500
"""Number of changes to compare with filters before the event loop runs other tasks."""

PING_AFTER = 15.0
"""Seconds without changes after which a watcher receives an empty batch."""

Names = Mapping[str, str]

Encode = Callable[[Facts, Names], bytes]
"""Encodes a change. The names are those of API keys, by id."""

Channel = tuple[str | None, Filters]
"""The subject of a list: a tenant (None: all tenants), and filters."""


class Batch(Struct, frozen=True):
    """Changes for one watcher, oldest first, and the number of skipped changes before them."""

    changed: Sequence[bytes] = ()
    skipped: int = 0


class Watcher:
    """One open list."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._skipped = 0
        self.news = asyncio.Event()

    def see(self, changed: Sequence[bytes], skipped: int = 0) -> None:
        """Add the newest changes. `skipped` changes came before them."""
        self._skipped += skipped + max(0, len(self._waiting) + len(changed) - MOST_WAITING)
        self._waiting.extend(changed)
        self.news.set()

    def take(self) -> Batch:
        """Return the changes since the last call."""
        batch = Batch(list(self._waiting), self._skipped)
        self._waiting.clear()
        self._skipped = 0
        self.news.clear()
        return batch


class Changes:
    """The changes of one store.

    `running` returns the facts of this process's running responses, except known ids.
    """

    def __init__(
        self,
        store: Store,
        running: Callable[[Container[str]], Sequence[Facts]],
        load_names: Callable[[Sequence[str]], Awaitable[Names]],
        encode: Encode,
    ) -> None:
        self._store = store
        self._running = running
        self._load_names = load_names
        self._encode = encode
        self._channels: dict[Channel, set[Watcher]] = {}
        self._task: asyncio.Task[None] | None = None
        self._placed = asyncio.Event()
        """Set once the newest row of the store is known."""
        self._known: dict[str, tuple[str, int | None]] = {}
        """The status and end of recent changes that were passed on, by response id."""

    async def watch(self, tenant: str | None, filters: Filters) -> AsyncGenerator[Batch, None]:
        """Yield batches of changes until the caller stops: the first once no change can be missed,
        then on changes.

        The first batch has the running responses. After a silence, an empty batch is yielded.
        """
        channel = (tenant, filters)
        watcher = Watcher()
        self._channels.setdefault(channel, set()).add(watcher)
        if self._task is None:
            self._placed.clear()
            self._task = asyncio.get_running_loop().create_task(self._poll())
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

    async def _poll(self) -> None:
        place: int | None = None
        try:
            while self._channels:
                with suppress(StoreError):  # retried with the next query
                    if place is None:
                        place = await self._start()
                    newest, changed = await self._store.read(facts_detail.changed, _behind(place))
                    names = await self._load_names([one.key_id for one in changed])
                    await self._hand_on(changed, names)
                    place = max(place, newest)
                await asyncio.sleep(EVERY)
        finally:
            self._task = None
            self._known.clear()

    async def _start(self) -> int:
        """Return the newest row number; the rows that `OVERLAP` repeats are no changes."""
        newest, _ = await self._store.read(facts_detail.changed, None)
        place, earlier = await self._store.read(facts_detail.changed, _behind(newest))
        self._remember(earlier)
        self._placed.set()
        return place

    async def _hand_on(self, changed: Sequence[Facts], names: Names) -> None:
        new = self._remember((*self._running(self._known), *changed))
        encoded: dict[int, bytes] = {}
        checks = 0
        for channel, watchers in list(self._channels.items()):
            checks += len(new)
            if checks > CHECKS_AT_ONCE:
                checks = 0
                await asyncio.sleep(0)
            passing = [one for one in new if _passes(one, channel)]
            displayed = passing[-MOST_WAITING:]
            for one in displayed:
                if id(one) not in encoded:
                    encoded[id(one)] = self._encode(one, names)
            for watcher in watchers if displayed else ():
                watcher.see([encoded[id(one)] for one in displayed], len(passing) - len(displayed))

    def _remember(self, seen: Sequence[Facts]) -> list[Facts]:
        """Return what is new of these facts, and know it from now on."""
        new = [one for one in seen if self._known.get(one.id) != (one.status, one.ended)]
        for one in new:
            self._known.pop(one.id, None)
            self._known[one.id] = (one.status, one.ended)
        for id_ in list(self._known)[:-MOST_KNOWN]:
            del self._known[id_]
        return new


def newest(running: Sequence[Facts]) -> list[Facts]:
    """Return the newest running responses, up to the limit of a list, oldest first."""
    return sorted(running, key=lambda one: one.began)[-MOST_RUNNING:]


def _behind(place: int) -> int:
    """Return the row number after which the next query reads."""
    return max(0, place - OVERLAP)


def _passes(facts: Facts, channel: Channel) -> bool:
    tenant, filters = channel
    return tenant in (None, facts.tenant) and (filters.is_empty or matches(facts, filters))
