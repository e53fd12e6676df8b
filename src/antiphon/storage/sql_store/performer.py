"""How the methods of an SQL store are performed, whichever database performs them: `_read` and `_write`."""

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
"""Rows that one step of a purge takes out, so that saves come between."""

READS_AT_ONCE = 5
"""Large reads that a process does at once, of one tenant alone four; each takes the CPU in pieces of milliseconds."""

READS_WAITING = 1000
"""Large reads that may wait; more are refused at once."""

OVERLOADED = "The store is overloaded: too many large reads are waiting."

MakeAct = Callable[[], Operation[R]]
"""Creates the act again for each attempt."""


def shared_reads() -> FairScheduler:
    """Return the scheduler of a process's large reads."""
    return FairScheduler(READS_AT_ONCE, READS_WAITING, leaves_room=True)


class Performer(ABC):
    """Performs acts in a database, corrects times by the store's clock, and notifies listeners of changes."""

    def __init__(self, url: str, now: Clock) -> None:
        self.url = url
        self._clock = now
        self._correction = self._shift = 0.0
        self._listeners: list[Callable[[str], None]] = []
        self._closed = False

    @abstractmethod
    async def _read(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Perform an act that only reads. It sees this tenant's rows alone, where the database can see to that."""

    @abstractmethod
    async def _write(self, make: MakeAct[R], tenant: str | None = None) -> R:
        """Perform an act that writes, durable when this returns. It sees what `_read` shows.

        The act may be performed more than once.
        """

    async def _in_steps(self, query: str, bound: int) -> int:
        """Delete rows a few at a time; return how many there were."""
        gone, step = 0, AT_ONCE
        while step == AT_ONCE:
            step = await self._write(lambda: responses.purge(query, bound, AT_ONCE))
            gone += step
        return gone

    def _now(self) -> int:
        return int(self._clock() + self._correction)

    def _correct(self, skew: float, correction: float) -> None:
        """Take over how far this process's clock is ahead of the store's, and what to add to it for what is read."""
        is_off = abs(skew) >= 1
        self._shift = -skew if is_off else 0.0
        self._correction = correction if is_off else 0.0

    def _dated(self, response: StoredResponse) -> StoredResponse:
        """Return a response that expires by the store's clock, as it would by this process's."""
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
