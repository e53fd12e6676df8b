"""The interface between the methods of an SQL store and its database: `_read` and `_write`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.contract import JOBS
from antiphon.storage.operations import responses
from antiphon.storage.operations.step import Operation, R
from antiphon.storage.records import StoredResponse

AT_ONCE = 500
"""Rows that one step of a purge deletes, so that saves can run between the steps."""

READS_AT_ONCE = 5
"""Maximum number of concurrent large reads of a process; four of one tenant. Each uses the CPU in slices of ms."""

READS_WAITING = 1000
"""Maximum number of waiting large reads. Further reads are rejected immediately."""

OVERLOADED = "The store is overloaded: too many large reads are waiting."

MakeAct = Callable[[], Operation[R]]
"""Creates the operation again for each attempt."""


def shared_reads() -> FairScheduler:
    """Return the scheduler of a process's large reads."""
    return FairScheduler(READS_AT_ONCE, READS_WAITING, leaves_room=True)


class Performer(ABC):
    """Runs operations in a database, corrects times by the store's clock, and notifies listeners of changes."""

    def __init__(self, url: str, now: Clock) -> None:
        self.url = url
        self._clock = now
        self._correction = self._shift = 0.0
        self._listeners: list[Callable[[str], None]] = []
        self._closed = False
        self._is_disk_full = False
        """Whether a write failed for it; `has_room` checks again."""

    @abstractmethod
    async def _read(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Run an operation that only reads. If the database supports row security, it sees only this tenant's rows."""

    @abstractmethod
    async def _write(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Run an operation that writes. It is durable when this returns, and sees the same rows as with `_read`.

        The operation may run more than once.
        """

    async def _free(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Run an operation like `_write` that deletes data or changes a key. A full disk must not prevent it."""
        return await self._write(make, tenant)

    async def _in_steps(self, query: str, bound: int) -> int:
        """Delete rows a few at a time; return their number."""
        gone, step = 0, AT_ONCE
        while step == AT_ONCE:
            step = await self._free(lambda: responses.purge(query, bound, AT_ONCE))
            gone += step
        return gone

    def _now(self) -> int:
        return int(self._clock() + self._correction)

    def _correct(self, skew: float, correction: float) -> None:
        """Store the skew of this process's clock, and the correction to apply to times for reads."""
        is_off = abs(skew) >= 1
        self._shift = -skew if is_off else 0.0
        self._correction = correction if is_off else 0.0

    def _dated(self, response: StoredResponse) -> StoredResponse:
        """Return a response with its expiry time converted from this process's clock to the store's clock."""
        if not self._shift or response.expires_at is None:
            return response
        return replace(response, expires_at=response.expires_at + int(self._shift))

    def _tell_all(self, response_ids: Sequence[str] | None) -> None:
        for response_id in (*response_ids, JOBS) if response_ids else ():
            self._tell(response_id)

    def _tell(self, response_id: str) -> None:
        for listener in self._listeners:
            listener(response_id)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
