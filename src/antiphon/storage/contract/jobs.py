"""The store contract for background responses, their event logs, and the leases of workers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from antiphon.storage.records import (
    NOTHING_RESERVED,
    ONE_SLOT,
    SOONEST,
    Announcement,
    Backlog,
    Deferral,
    Frames,
    Job,
    LockResult,
    Progress,
    Reply,
    Reservation,
    Slots,
    StoredResponse,
    Tail,
)

JOBS = "jobs"
"""Passed to `on_change` listeners, instead of a response's id, when a job waits to be claimed."""


class Pulse(Protocol):
    """A worker's heartbeat over a separate connection. Used by one thread, which needs no event loop."""

    def beat(self) -> None:
        """Record that the worker is alive. Blocks for a few seconds at most. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Jobs(Protocol):
    """Background responses. The row is the job: it waits in the queue, has one owner, and is fenced by a version.

    A worker is identified by a name. Its heartbeat shows that it is alive. If the heartbeat stops, other workers can
    call `expire_worker`. An expired worker keeps its jobs until other workers claim them, and its next heartbeat
    makes it alive again.
    """

    async def enqueue(
        self,
        response: StoredResponse,
        request: bytes,
        frames: Sequence[Frames],
        reply: Reply | None = None,
        taken: Reservation = NOTHING_RESERVED,
        *,
        most: int | None = None,
        deferral: Deferral = SOONEST,
    ) -> LockResult:
        """Store a queued response with its request, and lock its conversation.

        Nothing is stored if the result is `BUSY` (another response holds the conversation's lock), `UNKNOWN` (the
        conversation does not exist) or `FULL` (the tenant already has `most` waiting jobs; None means no limit). The
        limit also holds for concurrent requests, and separately for deferred jobs and for others.
        """
        ...

    async def claim(
        self, worker: str, per_tenant: int, per_tenant_here: int | None = None, slots: Slots = ONE_SLOT
    ) -> Job | None:
        """Assign the next waiting job to the worker and mark it as in progress; return None if no job waits.

        A job waits if it has no owner or its owner has expired. The next job is the oldest one of the tenant with the
        fewest jobs in progress. The queue skips a tenant that has `per_tenant` jobs in progress at all workers, or
        `per_tenant_here` at this worker (None means no limit), and an API key with as many jobs in progress as its
        limit for concurrent requests.

        A deferred job is never next while another job could be claimed. It uses an idle slot before its `begin_by`,
        and any free slot afterwards; the most urgent of a tenant is first. A job that is not deferred ignores the jobs
        in idle slots: if it needs the slot of one, or its place in the limit of the tenant or of the key, that job
        returns to the queue. Of the jobs of a tenant's key, those that continue a `recent` one are first, unless a
        deferred job is due.

        A job of an expired worker loses the events since the last `keep`, and its `lost`
        counter is incremented. A large job is returned without its request and its items, and flagged as partial:
        `find_job` returns all of it.
        """
        ...

    async def advance(self, job: Job, progress: Progress) -> Job | None:
        """Store progress; return the updated job, or None if `job` is not the newest version."""
        ...

    async def finish(
        self,
        job: Job,
        response: StoredResponse,
        frames: Sequence[Frames] = (),
        *,
        append: bool = False,
        announcement: Announcement | None = None,
    ) -> bool:
        """End a job with the final state of its response; return False, and store nothing, if `job` is outdated.

        Stores the response as `save` does, its last events, and a delivery to each webhook endpoint of the tenant that
        subscribes to the announcement, all in one transaction.
        """
        ...

    async def find_job(self, tenant: str, response_id: str, *, few: bool = False) -> Job | None:
        """Return the current job of a response, whichever worker owns it, or None.

        With `few`, a large job is returned as `claim` returns it.
        """
        ...

    async def backlog(self, lead: int = 0) -> Backlog:
        """Return the number of waiting jobs and deliveries of all tenants together.

        A deferred job is overdue if it still waits `lead` seconds after it can use any slot.
        """
        ...

    async def owned(self, worker: str) -> Mapping[str, int]:
        """Return the worker's jobs as a mapping from response id to job version."""
        ...

    async def held(self, worker: str) -> Sequence[str]:
        """Return the responses for which the worker holds a conversation lock or an idempotency key."""
        ...

    async def release(self, worker: str, response_id: str) -> None:
        """Release the lock and the key that the worker holds for a response."""
        ...

    async def heartbeat(self, worker: str) -> None:
        """Record that the worker is alive."""
        ...

    def pulse(self, worker: str) -> Pulse | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        Return None if all workers of the store run in this process: `heartbeat` is sufficient for them.
        """
        ...

    async def heartbeats(self) -> Mapping[str, int]:
        """Return the last heartbeat of each unexpired worker that owns anything. It changes while a worker is alive."""
        ...

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        """Release everything that a worker owns, if its last heartbeat is still `beat`; return False if it is not.

        Other workers can then claim its jobs, conversations and idempotency keys. The worker can still finish jobs that
        no other worker has claimed. `beat` is None if the worker itself calls this when it stops: its jobs wait again,
        without counting an attempt, and everything else is released.
        """
        ...

    async def release_job(self, worker: str, response_id: str) -> None:
        """Return one of the worker's jobs to the queue, without the events since the last `keep`."""
        ...

    async def tail(self, tenant: str, response_id: str, after: int) -> Tail | None:
        """Return the events of a response with numbers greater than `after`, or None if the response is unknown.

        The first frames can begin before `after`; frames that end before it are omitted.
        """
        ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call a listener on the event loop soon after a response or its job has changed, with the response's id.

        The id is `JOBS` if a job waits to be claimed, and empty if it is unknown which response changed. A change can
        be announced more than once, and a change by another process may not be announced at all, so also poll.
        """
        ...
