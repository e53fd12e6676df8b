"""Shares one resource fairly between tenants: a number of slots, and a separate queue for each
tenant.

Theory of operation.

Two known rules decide:

- **Which tenant is next?** The tenant that holds the fewest slots (max-min fairness: Bertsekas and
  Gallager, *Data Networks*, 2nd edition, section 6.5.2). Among equals, the one with the smallest
  start tag of start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): a tenant's tag grows
  by the cost of what it received.
- **How much can one tenant hold?** With `leaves_room`, up to `SHARE` times the slots that are still
  free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
  However many slots one tenant requests, a few stay free for the next tenant. Without it, a tenant
  that is alone can hold all of them.

The way of an operation:

    take: a slot is free for its tenant ──────────────────────────> HOLDS ── leave ──> the next one is admitted
    enter: as above; else                      ┌─ its turn ───────> HOLDS
        the queue has room, or makes room ──> WAITS ─ dropped ────> `NoRoomError`
        the queue is full ──> `NoRoomError`    └─ cancelled ──────> no longer counted

A full queue makes room for a tenant with fewer waiting operations: the tenant with the most loses
its last one, if that leaves it with at least as many as the other then has. So one tenant cannot
fill the queue for all. A patient operation is neither refused nor dropped.

Virtual time is the start tag of the operation that was admitted last. A tenant that was idle begins
at this time, and so gets no credit for the past. A tenant that received more than its share has a
tag in the future, which is stored while it has no queue: emptying its queue for a moment gains
nothing.

A deferred operation, of a tenant that is named by `deferred`, never delays another: it waits behind
all others, even if they come later, leaves one of `RESERVED_SLOTS` slots free, and counts neither
for the bound of the queue nor for the limit of its tenant's other operations.

What holds always:

- `in_use` is the sum of what tenants hold, and `waiting` the number of places in the queues. A
  limited scheduler counts each slot by tenant; an unlimited one only counts.
- A tenant with waiting operations takes no slot past them.
- No slot stays free while an operation waits that may have it: `leave` and `resize` admit until
  none is left.
- The work for an operation, and what is remembered of tenants, do not grow with the number of
  tenants seen so far.
- Time in the queue does not count against a timeout of the operation: start the timeout after
  `enter`.
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MEMORY = 0.1
"""Weight of the newest operation in the mean duration."""

FEWEST_TAGS = 64
"""Tenants with a stored start tag, even if it is obsolete."""

TAGS_GROW = 2
"""Obsolete tags are dropped when there are this many times the tags that were left the last
time.
"""

SHARE = 4.0
"""With `leaves_room`: a tenant can hold this many times the free slots, so one tenant alone holds
about 80 %.
"""

RESERVED_SLOTS = 8
"""One of this many slots is never taken by a deferred operation: the next other one finds it
free.
"""

DEFERRED = "\0deferred\0"
"""Precedes the tenant of deferred operations; no tenant's name begins so."""


def deferred(tenant: str) -> str:
    """Return the name by which a tenant's deferred operations are shared."""
    return DEFERRED + tenant


class NoRoomError(Exception):
    """The queue is full. `wait` is the number of seconds after which it may be empty."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"the queue is full; try again in {wait:.1f} s")
        self.wait = wait


@dataclass(frozen=True, slots=True)
class SchedulerUsage:
    """The report of a scheduler: slots in use of `capacity` (0 for no limit), and the waiting
    operations.
    """

    in_use: int
    capacity: int
    waiting: int
    oldest_wait: float
    """How long the first of the waiting operations has waited, in seconds; 0 if none waits."""


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place in a queue; `turn` is done once a slot is free, or fails if the place was dropped."""

    turn: asyncio.Future[None]
    tenant: str
    cost: float
    is_patient: bool
    since: float


@dataclass(slots=True)
class _Queue:
    """The places of one tenant, and the start tag of the first."""

    tag: float
    is_deferred: bool
    places: deque[_Place] = field(default_factory=deque)


class FairScheduler:
    """`capacity` concurrent operations, 0 for no limit; `bound` more can wait.

    A tenant holds at most `per_tenant` slots, 0 for no limit. Use it from one event loop.
    """

    def __init__(
        self,
        capacity: int = 0,
        bound: int = 0,
        *,
        per_tenant: int = 0,
        leaves_room: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = capacity
        self.bound = bound
        self.in_use = 0
        self.waiting = 0
        # Counters instead of sums over tenants: each operation reads them.
        self._deferred = 0
        """Those of the waiting operations that are deferred."""
        self._per_tenant = per_tenant
        self._leaves_room = leaves_room
        self.is_limited = bool(capacity or per_tenant)
        """Whether an operation may have to wait. If not, the owner can count in `in_use`
        directly.
        """
        self._clock = clock
        self._retained: dict[str, int] = {}
        self._queues: dict[str, _Queue] = {}
        self._tags: dict[str, float] = {}
        """The next start tag of each tenant that received more than its share so far."""
        self._most_tags = FEWEST_TAGS
        """The number of tags above which obsolete ones are dropped."""
        self._now = 0.0
        """Virtual time: the start tag of the operation that was admitted last."""
        self._took = 0.0

    @property
    def free(self) -> float:
        """Free slots; infinite without a limit."""
        return max(0, self.capacity - self.in_use) if self.capacity else math.inf

    @property
    def is_full(self) -> bool:
        """Whether a new operation of any tenant must wait."""
        return 0 < self.capacity <= self.in_use

    @property
    def usage(self) -> SchedulerUsage:
        """The current usage and queue."""
        since = min((queue.places[0].since for queue in self._queues.values()), default=None)
        return SchedulerUsage(
            self.in_use,
            self.capacity,
            self.waiting,
            0.0 if since is None else self._clock() - since,
        )

    @property
    def tenants(self) -> set[str]:
        """The tenants that hold slots of a limited resource, or wait for one."""
        return self._retained.keys() | self._queues.keys()

    @property
    def expected_wait(self) -> float:
        """Estimated seconds until the queue is empty, and one more operation has ended."""
        return self._took * (self.waiting - self._deferred + 1) / (self.capacity or 1)

    def admits(self, tenant: str) -> bool:
        """Whether an operation of this tenant is accepted now, if only to wait."""
        return (
            self.is_free_for(tenant)
            or self.waiting - self._deferred < self.bound
            or self._to_drop(tenant) is not None
        )

    def take(self, tenant: str = "", *, cost: float = 1.0) -> bool:
        """Acquire a slot if one is free for this tenant, and return whether it was; release it with
        `leave`.
        """
        if self.is_limited:
            if tenant in self._queues or not self._may_take_more(
                tenant
            ):  # `is_free_for`, in a call less
                return False
            self._retained[tenant] = self._retained.get(tenant, 0) + 1
            self._now = max(self._now, self._tags.get(tenant, 0.0))
            self._remember(tenant, self._now + cost)
        self.in_use += 1
        return True

    async def enter(self, tenant: str = "", *, cost: float = 1.0, is_patient: bool = False) -> None:
        """Acquire a slot, in the tenant's turn; release it with `leave`.

        Raises `NoRoomError` if the queue is full.

        `cost` is the size of the operation in units of the caller's choice. A patient operation
        always waits, even if the queue is full.
        """
        # Most operations find a free slot, and pay for no future and no queue.
        if self.take(tenant, cost=cost):
            return
        # Before the place exists: this one must not be dropped to make room for itself.
        if self.waiting - self._deferred >= self.bound and not is_patient:
            self._make_room(tenant)
        place = _Place(
            asyncio.get_running_loop().create_future(), tenant, cost, is_patient, self._clock()
        )
        if tenant not in self._queues:
            # No credit for the time without operations, but what was received beyond
            # the share still counts.
            tag = max(self._now, self._tags.pop(tenant, 0.0))
            self._queues[tenant] = _Queue(tag, tenant.startswith(DEFERRED))
        queue = self._queues[tenant]
        queue.places.append(place)
        self.waiting += 1
        self._deferred += queue.is_deferred
        try:
            await place.turn
        except asyncio.CancelledError:
            # The task is cancelled while it waits, or in the moment in which it got a slot,
            # or was dropped.
            if place.turn.cancelled():
                self._give_up(place)
            elif place.turn.exception() is None:
                self.leave(tenant)  # the slot was assigned in the same moment
            raise

    def leave(self, tenant: str = "", took: float | None = None) -> None:
        """Release the slot after `took` seconds of work; None if no work was done."""
        if took is not None:
            self._took += (took - self._took) * MEMORY
        self.in_use -= 1
        if retained := self._retained.get(tenant, 0):
            if retained == 1:
                del self._retained[tenant]
            else:
                self._retained[tenant] = retained - 1
        if self.waiting:
            self._admit()

    @asynccontextmanager
    async def slot(self, tenant: str = "", *, cost: float = 1.0) -> AsyncIterator[None]:
        """Hold a slot inside the block. Raises what `enter` raises."""
        await self.enter(tenant, cost=cost)
        begun = self._clock()
        try:
            yield
        finally:
            self.leave(tenant, self._clock() - begun)

    def resize(self, capacity: int, bound: int, per_tenant: int | None = None) -> None:
        """Change the number of slots, and of each tenant's; operations keep theirs, and their
        places in the queue.
        """
        self.capacity = capacity
        self.bound = bound
        if per_tenant is not None:
            self._per_tenant = per_tenant
        self.is_limited = bool(capacity or self._per_tenant)
        self._admit()

    def is_free_for(self, tenant: str) -> bool:
        """Whether a slot is free for this tenant, and none of its operations waits."""
        return tenant not in self._queues and self._may_take_more(tenant)

    def _may_take_more(self, tenant: str) -> bool:
        free = self.capacity - self.in_use if self.capacity else math.inf
        retained = self._retained.get(tenant, 0)
        if tenant.startswith(DEFERRED):
            free -= self.capacity // RESERVED_SLOTS
            retained += self._retained.get(tenant.removeprefix(DEFERRED), 0)
        if free <= 0 or 0 < self._per_tenant <= retained:
            return False
        return not (self._leaves_room and retained) or retained < SHARE * free

    def _admit(self) -> None:
        """Assign free slots to waiting operations until no slot is free for any of them."""
        while self.waiting and self.free:
            able = [tenant for tenant in self._queues if self._may_take_more(tenant)]
            if not able:
                return
            tenant = min(able, key=self._rank)
            queue = self._queues[tenant]
            place = queue.places[0]
            self._now = max(self._now, queue.tag)
            queue.tag = self._now + place.cost
            self._remove(place)
            if not place.turn.done():
                self.in_use += 1
                self._retained[tenant] = self._retained.get(tenant, 0) + 1
                place.turn.set_result(None)

    def _rank(self, tenant: str) -> tuple[bool, int, float]:
        queue = self._queues[tenant]
        return queue.is_deferred, self._retained.get(tenant, 0), queue.tag

    def _make_room(self, tenant: str) -> None:
        """Drop an operation of a tenant with more waiting ones.

        Raises `NoRoomError` if no tenant has more.
        """
        place = self._to_drop(tenant)
        if place is None:
            raise NoRoomError(self.expected_wait)
        self._remove(place)
        if not place.turn.done():
            place.turn.set_exception(NoRoomError(self.expected_wait))

    def _to_drop(self, tenant: str) -> _Place | None:
        """Return the place to drop for one of this tenant's: the last of the tenant with the most
        waiting.
        """
        others = (queue.places for queue in self._queues.values() if not queue.is_deferred)
        most = max(others, key=len, default=())
        own = len(self._queues[tenant].places) if tenant in self._queues else 0
        if len(most) <= own + 1:
            return None
        return next((place for place in reversed(most) if not place.is_patient), None)

    def _give_up(self, place: _Place) -> None:
        queue = self._queues.get(place.tenant)
        if queue is not None and place in queue.places:
            self._remove(place)

    def _remove(self, place: _Place) -> None:
        queue = self._queues[place.tenant]
        queue.places.remove(place)
        self.waiting -= 1
        self._deferred -= queue.is_deferred
        if not queue.places:
            del self._queues[place.tenant]
            self._remember(place.tenant, queue.tag)

    def _remember(self, tenant: str, tag: float) -> None:
        """Store what a tenant received beyond its share, so that a queue that empties for a moment
        gains nothing.
        """
        if len(self._tags) >= self._most_tags:
            self._tags = {one: known for one, known in self._tags.items() if known > self._now}
            self._most_tags = max(FEWEST_TAGS, TAGS_GROW * len(self._tags))
        if tag > self._now:
            self._tags[tenant] = tag
