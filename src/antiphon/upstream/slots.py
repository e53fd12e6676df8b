"""How many requests a backend has at once, and a fair queue for those beyond."""

import asyncio
import math
from collections import OrderedDict, deque
from dataclasses import dataclass

from antiphon.errors import BackendError
from antiphon.upstream.retry_after import LONGEST_WAIT

MEMORY = 0.1
"""Share of the newest request in what is known of how long one takes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place in the queue; `turn` is done once a slot is free, or fails where another request got the place."""

    turn: asyncio.Future[None]
    tenant: str
    is_patient: bool


class Slots:
    """`concurrency` requests at once, 0 for any number; `bound` more may wait.

    Each tenant has a queue of its own, and a slot that falls free goes to them in turn: one with many requests does
    not hold up one with few (cases/faults.md, row 68). Without a limit nobody waits: requests are only counted, in
    `in_flight`.
    """

    def __init__(self, concurrency: int = 0, bound: int = 0) -> None:
        self.concurrency = concurrency
        self.bound = bound
        self.in_flight = 0
        self.waiting = 0
        self._queues: OrderedDict[str, deque[_Place]] = OrderedDict()
        self._took = 0.0

    @property
    def free(self) -> float:
        """Slots that no request has; infinite where there is no limit."""
        return max(0, self.concurrency - self.in_flight) if self.concurrency else math.inf

    @property
    def is_full(self) -> bool:
        """Whether a new request must wait."""
        return self.waiting > 0 or 0 < self.concurrency <= self.in_flight

    def takes(self, tenant: str) -> bool:
        """Whether a request of this tenant is accepted now, if only to wait."""
        return not self.is_full or self.waiting < self.bound or self._crowding(tenant) is not None

    def take(self) -> bool:
        """Take a slot if one is free, and return whether it was; `leave` gives it back."""
        if self.waiting or 0 < self.concurrency <= self.in_flight:
            return False
        self.in_flight += 1
        return True

    def leave(self, took: float | None = None) -> None:
        """Give the slot back after these seconds of work; None where it was none."""
        if took is not None:
            self._took += (took - self._took) * MEMORY
        self.in_flight -= 1
        if self.waiting:
            self._hand_out()

    def resize(self, concurrency: int, bound: int) -> None:
        """Change the number of slots; requests keep theirs, and their places in the queue."""
        self.concurrency, self.bound = concurrency, bound
        self._hand_out()

    def overloaded(self) -> BackendError:
        """Return the error for one too many, with the time in which the queue may have passed."""
        wait = self._took * (self.waiting + 1) / (self.concurrency or 1)
        return overloaded(min(max(1, math.ceil(wait)), LONGEST_WAIT))

    async def enter(self, tenant: str = "", *, is_patient: bool = False) -> None:
        """Take a slot, in one's turn; `leave` gives it back. Raises `BackendError` (503) at once where all are taken.

        A patient request waits in any case: what was begun is to be ended.
        """
        if self.take():
            return
        if self.waiting >= self.bound and not is_patient:
            self._make_room(tenant)
        place = _Place(asyncio.get_running_loop().create_future(), tenant, is_patient)
        self._queues.setdefault(tenant, deque()).append(place)
        self.waiting += 1
        try:
            await place.turn
        except asyncio.CancelledError:
            if place.turn.cancelled():
                self._give_up(place)
            elif place.turn.exception() is None:
                self.leave()  # the slot came in the same moment
            raise

    def _hand_out(self) -> None:
        """Give free slots to waiting requests, tenant by tenant."""
        while self.waiting and self.free:
            tenant = next(iter(self._queues))
            place = self._queues[tenant][0]
            self._remove(place)
            if tenant in self._queues:
                self._queues.move_to_end(tenant)
            if not place.turn.done():
                self.in_flight += 1
                place.turn.set_result(None)

    def _make_room(self, tenant: str) -> None:
        """Drop a request of a tenant that has more of them waiting. Raises `BackendError` where no tenant has."""
        place = self._crowding(tenant)
        if place is None:
            raise self.overloaded()
        self._remove(place)
        if not place.turn.done():
            place.turn.set_exception(self.overloaded())

    def _crowding(self, tenant: str) -> _Place | None:
        """Return the place to drop for one of this tenant's: the last of the tenant that has most waiting."""
        own = len(self._queues.get(tenant, ()))
        most: deque[_Place] = max(self._queues.values(), key=len, default=deque())
        if len(most) <= own + 1:
            return None
        return next((place for place in reversed(most) if not place.is_patient), None)

    def _give_up(self, place: _Place) -> None:
        if place in self._queues.get(place.tenant, ()):
            self._remove(place)

    def _remove(self, place: _Place) -> None:
        queue = self._queues[place.tenant]
        queue.remove(place)
        self.waiting -= 1
        if not queue:
            del self._queues[place.tenant]


def overloaded(seconds: int = 1) -> BackendError:
    """Return the error for more requests than can be taken."""
    text = "The server is overloaded. Please try again later."
    headers = {"retry-after": str(seconds)}
    return BackendError(
        text, status=503, type="service_unavailable_error", code="server_is_overloaded", headers=headers
    )
