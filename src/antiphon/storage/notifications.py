"""Who waits for news of a response, and is woken by the store's. Those who wait for the same look it up together."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from antiphon.storage.contract import Store

STALE = 0.5
"""Seconds after which a lookup is repeated without a notification: a notification may get lost."""

R = TypeVar("R")


@dataclass(slots=True)
class Topic:
    """One thing that tasks wait for: their waits, and what they have looked up since it changed."""

    waits: "set[Subscription]" = field(default_factory=set)
    looks: dict[Hashable, tuple[float, "asyncio.Task[Any]"]] = field(default_factory=dict)


class Notifier:
    """Tasks that wait for a change of a response, of the queue (`JOBS`), or of anything."""

    def __init__(self) -> None:
        self._watched: dict[str, Topic] = {}

    def listen(self, store: Store) -> None:
        """Receive the notifications of this store."""
        store.on_change(self.wake)

    def wake(self, what: str) -> None:
        """Wake who waits for it; all of them where it is not known what changed."""
        found = [self._watched[what]] if what in self._watched else [] if what else list(self._watched.values())
        for watched in found:
            watched.looks.clear()
            for one in watched.waits:
                one.is_changed = True
                if one.waiter is not None and not one.waiter.done():
                    one.waiter.set_result(None)

    def expect(self, what: str) -> "Subscription":
        """Start to wait: notifications from now on count. Use it in `with`, around the lookup of the present state."""
        return Subscription(self._watched, what)


class Subscription:
    """One task's wait; it may be waited for again and again."""

    def __init__(self, all_watched: dict[str, Topic], what: str) -> None:
        self._all, self._what = all_watched, what
        self.is_changed = False
        """Whether it changed since the last wait."""
        self.waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> "Subscription":
        self._watched = self._all.setdefault(self._what, Topic())
        self._watched.waits.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._watched.waits.discard(self)
        if not self._watched.waits:
            del self._all[self._what]

    async def wait(self, seconds: float) -> None:
        """Return when it changed since the last wait, at the latest after so many seconds."""
        if not self.is_changed:
            self.waiter = self._loop.create_future()
            timer = self._loop.call_later(seconds, _end, self.waiter)
            try:
                await self.waiter
            finally:
                timer.cancel()
        self.is_changed = False

    async def look(self, key: Hashable, look: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Return what `look` finds; tasks that look for the same key share it, until it changes or is stale."""
        found = self._watched.looks.get(key)
        if found is None or self._loop.time() - found[0] > STALE:
            found = self._loop.time(), self._loop.create_task(look())
            self._watched.looks[key] = found
        task = found[1]
        if not task.done():
            waiter = self._loop.create_future()  # its own: a waiter that stops does not cancel the lookup of the others
            task.add_done_callback(partial(_looked, waiter))
            await waiter
        result: R = task.result()
        return result


def _end(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _looked(waiter: "asyncio.Future[None]", task: "asyncio.Task[Any]") -> None:
    if not waiter.done():
        waiter.set_result(None)
    elif not task.cancelled():
        task.exception()  # it concerns no task any more
