"""How many requests a backend has at once, and a fair queue for those beyond."""

import asyncio
import math
from collections import OrderedDict, deque

from antiphon.errors import BackendError

LONGEST_WAIT = 120
"""Seconds: above this the SDKs do not wait (specification section 14)."""

MEMORY = 0.1
"""Share of the newest request in what is known of how long one takes."""

Place = asyncio.Future[None]


class Slots:
    """`concurrency` requests at once, 0 for any number; `bound` more may wait.

    Each tenant has a queue of its own, and a slot that falls free goes to them in turn: one with many requests does
    not hold up one with few (cases/faults.md, row 68).
    """

    def __init__(self, concurrency: int = 0, bound: int = 0) -> None:
        self.concurrency = concurrency
        self.bound = bound
        self.in_flight = 0
        self.waiting = 0
        self._queues: OrderedDict[str, deque[Place]] = OrderedDict()
        self._took = 0.0

    @property
    def free(self) -> float:
        """Slots that nobody has; infinite where any number may ask."""
        return max(0, self.concurrency - self.in_flight) if self.concurrency else math.inf

    @property
    def is_full(self) -> bool:
        """Whether whoever comes now must wait."""
        return self.free == 0 or self.waiting > 0

    def takes(self, tenant: str) -> bool:
        """Whether this tenant may come now, if only to wait."""
        return not self.is_full or self.waiting < self.bound or self._crowding(tenant) is not None

    def leave(self, took: float) -> None:
        """Give the slot back after these seconds."""
        self._took += (took - self._took) * MEMORY
        self._pass_on()

    def overloaded(self) -> BackendError:
        """Return the error for one too many, with the time in which the queue may have passed."""
        wait = self._took * (self.waiting + 1) / (self.concurrency or 1)
        seconds = min(max(1, math.ceil(wait)), LONGEST_WAIT)
        return overloaded(seconds)

    async def enter(self, tenant: str = "", *, is_patient: bool = False) -> None:
        """Take a slot, in one's turn; `leave` gives it back. Raises `BackendError` (503) at once where all are taken.

        Who is patient waits in any case: what was begun is to be ended.
        """
        if not self.is_full:
            self.in_flight += 1
            return
        if self.waiting >= self.bound and not is_patient:
            self._make_room(tenant)
        place: Place = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(place)
        self.waiting += 1
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._pass_on()  # the slot came in the same moment
            elif place.cancelled():
                self._drop(tenant, place)
            raise

    def _pass_on(self) -> None:
        """Give a slot to who waits."""
        self.in_flight -= 1
        while self.waiting and self.free:
            tenant, queue = self._queues.popitem(last=False)
            place = queue.popleft()
            if queue:
                self._queues[tenant] = queue
            self.waiting -= 1
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _crowding(self, tenant: str) -> str | None:
        """Return the tenant that has so many waiting that one of them may go for one of this tenant's."""
        own = len(self._queues.get(tenant, ()))
        most = max(self._queues, key=lambda one: len(self._queues[one]), default=None)
        return most if most is not None and len(self._queues[most]) > own + 1 else None

    def _make_room(self, tenant: str) -> None:
        crowding = self._crowding(tenant)
        if crowding is None:
            raise self.overloaded()
        last = self._queues[crowding].pop()
        self.waiting -= 1
        if not last.done():
            last.set_exception(self.overloaded())

    def _drop(self, tenant: str, place: Place) -> None:
        queue = self._queues.get(tenant, deque())
        if place in queue:
            queue.remove(place)
            self.waiting -= 1
            if not queue:
                del self._queues[tenant]


def overloaded(seconds: int = 1) -> BackendError:
    """Return the error for more requests than can be taken."""
    text = "The server is overloaded. Please try again later."
    headers = {"retry-after": str(seconds)}
    return BackendError(
        text, status=503, type="service_unavailable_error", code="server_is_overloaded", headers=headers
    )
