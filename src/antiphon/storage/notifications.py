"""Wakes tasks that wait for changes of a response. Tasks that wait for the same change share one
lookup.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from antiphon.storage.store import Store

STALE = 0.5
"""Seconds after which a lookup is repeated without a notification, because a notification can be
lost.
"""

R = TypeVar("R")


@dataclass(slots=True)
class Topic:
    """One subject of waiting tasks: their subscriptions, and lookups that are valid until it
    changes.
    """

    waits: "set[Subscription]" = field(default_factory=set)
    lookups: dict[Hashable, tuple[float, "asyncio.Task[Any]"]] = field(default_factory=dict)


class Notifier:
    """Tasks that wait for a change of a response, of the queue (`JOBS`), or of anything."""

    def __init__(self) -> None:
        self._watched: dict[str, Topic] = {}

    def listen(self, store: Store) -> None:
        """Receive the notifications of this store."""
        store.on_change(self.wake)

    def wake(self, what: str) -> None:
        """Wake the tasks that wait for this change, or all tasks if it is unknown what changed."""
        found = (
            [self._watched[what]]
            if what in self._watched
            else []
            if what
            else list(self._watched.values())
        )
        for watched in found:
            watched.lookups.clear()
            for one in watched.waits:
                one.is_changed = True
                if one.waiter is not None and not one.waiter.done():
                    one.waiter.set_result(None)

    def expect(self, what: str) -> "Subscription":
        """Subscribe to notifications from now on.

        Use it in `with`, around the lookup of the current state.
        """
        return Subscription(self._watched, what)


class Subscription:
    """One task's subscription. The task can wait any number of times."""

    def __init__(self, all_watched: dict[str, Topic], what: str) -> None:
        self._all = all_watched
        self._what = what
        self.is_changed = False
        """Whether a change happened since the last wait."""
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
        """Return when a change has happened since the last wait, or after the timeout."""
        if not self.is_changed:
            self.waiter = self._loop.create_future()
            timer = self._loop.call_later(seconds, _end, self.waiter)
            try:
                await self.waiter
            finally:
                timer.cancel()
        self.is_changed = False

    async def shared_read(self, key: Hashable, lookup: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Return the result of `lookup`.

        Tasks with the same key share the result until it changes or is stale.
        """
        found = self._watched.lookups.get(key)
        if found is None or self._loop.time() - found[0] > STALE:
            found = self._loop.time(), self._loop.create_task(lookup())
            self._watched.lookups[key] = found
        task = found[1]
        if not task.done():
            waiter = (
                self._loop.create_future()
            )  # separate: a cancelled waiter does not cancel the shared lookup
            task.add_done_callback(partial(_polled, waiter))
            await waiter
        result: R = task.result()
        return result


def _end(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _polled(waiter: "asyncio.Future[None]", task: "asyncio.Task[Any]") -> None:
    if not waiter.done():
        waiter.set_result(None)
    elif not task.cancelled():
        task.exception()  # no task needs it any more
