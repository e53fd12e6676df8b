"""Runs operations in a database: what callers name with `read` and `write`, and the steps of a store's own methods."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.act import Act
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations import responses
from antiphon.storage.operations.step import Operation, P, R, Read, Write

AT_ONCE = 500
"""Rows that one step of a purge deletes, so that saves can run between the steps."""

READS_AT_ONCE = 5
"""Maximum number of concurrent large reads of a process; four of one tenant. Each uses the CPU in slices of ms."""

READS_WAITING = 1000
"""Maximum number of waiting large reads. Further reads are rejected immediately."""

OVERLOADED = "The store is overloaded: too many large reads are waiting."


def shared_reads() -> FairScheduler:
    """Return the scheduler of a process's large reads."""
    return FairScheduler(READS_AT_ONCE, READS_WAITING, leaves_room=True)


TENANT = (str, type(None))
"""The types of a tenant that is the first argument of an operation; None stands for all of them."""

Observer = Callable[[Read[..., Any] | Write[..., Any], float, bool], None]
"""Receives each operation with the seconds that it took, and whether it failed."""


class Performer(ABC):
    """Runs operations in a database, corrects times by the store's clock, and notifies listeners of changes."""

    def __init__(self, url: str, now: Clock) -> None:
        self.url = url
        self.clock = StoreClock(now)
        self._listeners: list[Callable[[str], None]] = []
        self._closed = False
        self.observer: Observer | None = None
        self._is_disk_full = False
        """Whether a write failed for it; `has_room` checks again."""

    @abstractmethod
    async def _perform_read(self, act: Act[R], tenant: str | None) -> R:
        """Run an operation that only reads. If the database supports row security, it sees only this tenant's rows."""

    @abstractmethod
    async def _perform_write(self, act: Act[R], tenant: str | None, *, frees: bool) -> R:
        """Run an operation that writes. It is durable when this returns, and sees the same rows as a read.

        The operation may run more than once. If it `frees` space or changes a key, a full disk must not prevent it.
        """

    async def _call(self, operation: Read[P, R] | Write[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        act, began = Act(operation.begin, self.clock, args, kwargs), time.monotonic()
        tenant: str | None = None
        if not operation.is_of_all:
            tenant = args[0] if isinstance(args[0], TENANT) else args[0].tenant  # type: ignore[attr-defined]
        failed = False
        try:
            if isinstance(operation, Write):
                result = await self._perform_write(act, tenant, frees=operation.frees)
            else:
                result = await self._perform_read(act, tenant)
        except StoreError:
            failed = True
            raise
        finally:
            if self.observer is not None:
                self.observer(operation, time.monotonic() - began, failed)
        for name in act.changed:
            self._tell(name)
        return result

    read = write = _call
    """See `Store.read` and `Store.write`, which differ by their types."""

    def _read(self, make: Callable[[], Operation[R]], tenant: str | None = None) -> Coroutine[Any, Any, R]:
        return self._perform_read(Act(make, self.clock), tenant)

    def _write(self, make: Callable[[], Operation[R]], tenant: str | None = None) -> Coroutine[Any, Any, R]:
        return self._perform_write(Act(make, self.clock), tenant, frees=False)

    def _free(self, make: Callable[[], Operation[R]], tenant: str | None = None) -> Coroutine[Any, Any, R]:
        return self._perform_write(Act(make, self.clock), tenant, frees=True)

    async def _in_steps(self, query: str, bound: int) -> int:
        """Delete rows a few at a time; return their number."""
        gone, step = 0, AT_ONCE
        while step == AT_ONCE:
            step = await self._free(lambda: responses.purge(query, bound, AT_ONCE))
            gone += step
        return gone

    def _tell(self, response_id: str) -> None:
        for listener in self._listeners:
            listener(response_id)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
