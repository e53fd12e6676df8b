"""The part of the contract that keeps background responses, their logs, and leases of workers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from antiphon.storage.records import (
    NOTHING_RESERVED,
    Announcement,
    Backlog,
    Frames,
    Job,
    LockResult,
    Progress,
    Reply,
    Reservation,
    StoredResponse,
    Tail,
)

JOBS = "jobs"
"""The notification, instead of a response's id, that a job waits."""


class Pulse(Protocol):
    """A worker's heartbeat over a connection of its own, used by one thread, which need not have an event loop."""

    def beat(self) -> None:
        """Show that the worker lives; blocks for some seconds at most. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Jobs(Protocol):
    """Background responses. The row is the job: it waits in the queue, belongs to one worker, and is fenced.

    A worker is a name. Its heartbeat shows that it is alive; others may `expire_worker` it when the heartbeat stops.
    An expired worker keeps what it owns until another worker takes it, and is alive again with its next beat.
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
    ) -> LockResult:
        """Keep a queued response with the request that it answers; it holds its conversation from now on.

        Nothing is kept where the result is `BUSY` or `UNKNOWN` (another response holds the conversation, or it does not
        exist), or `FULL`: `most` jobs of the tenant wait already, None for any number. However many requests come at
        once, no more jobs wait.
        """
        ...

    async def claim(self, worker: str, per_tenant: int, per_tenant_here: int | None = None) -> Job | None:
        """Assign the next waiting job to the worker and mark it in progress; None if no job waits.

        A job waits if no worker owns it, or an expired one. Next is the tenant with the fewest jobs in progress, and of
        its jobs the oldest. Skipped are a tenant with `per_tenant` jobs in progress at all workers, or with
        `per_tenant_here` at this one (None for any number), and an API key with as many in progress as its limit for
        concurrent requests. A job of an expired worker loses the events since the last `keep`, and counts as lost.
        A large job comes without its request and its items, and has a flag for that: `find_job` returns all of it.
        """
        ...

    async def advance(self, job: Job, progress: Progress) -> Job | None:
        """Keep progress; return the job as it stands now, None where `job` is not the newest version."""
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
        """End a job with its response's last state; False, and nothing kept, where `job` is not the newest version.

        As `save` does it, with its last events, and with a delivery to each webhook endpoint of the tenant that
        wants the announcement: all of it durable together.
        """
        ...

    async def find_job(self, tenant: str, response_id: str, *, few: bool = False) -> Job | None:
        """Return the current job of a response, whichever worker runs it, or None.

        With `few`, a large one comes as `claim` returns it.
        """
        ...

    async def backlog(self) -> Backlog:
        """Return how much waits in the queue and in the outbox, of all tenants together."""
        ...

    async def owned(self, worker: str) -> Mapping[str, int]:
        """Return the worker's jobs: the version of each by its response's id."""
        ...

    async def held(self, worker: str) -> Sequence[str]:
        """Return the responses for which the worker holds a conversation or has reserved a key."""
        ...

    async def release(self, worker: str, response_id: str) -> None:
        """Free what the worker holds for a response."""
        ...

    async def heartbeat(self, worker: str) -> None:
        """Show that the worker lives."""
        ...

    def pulse(self, worker: str) -> Pulse | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        None where all workers of the store run in this process: `heartbeat` is enough there.
        """
        ...

    async def heartbeats(self) -> Mapping[str, int]:
        """Return each worker that owns anything and has not expired, with its beat, which changes while it lives."""
        ...

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        """Offer what a worker owns to others, if its beat is still this; False where it is not.

        Its jobs, conversations and idempotency keys can be claimed now; the worker can still finish what no other
        worker has claimed. `beat` is None if the worker itself calls this when it stops: its jobs wait again, without
        counting an attempt, and the rest is released.
        """
        ...

    async def release_job(self, worker: str, response_id: str) -> None:
        """Put one of the worker's jobs back into the queue, without the events since the last `keep`."""
        ...

    async def tail(self, tenant: str, response_id: str, after: int) -> Tail | None:
        """Return a response's log: its events of greater numbers than `after`. None where it is unknown.

        Frames may begin before `after`; those that end before it are omitted.
        """
        ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Have a listener called, on the event loop, soon after a response or its job has changed, with its id.

        It is `JOBS` if a job waits to be claimed, and empty if it is unknown what changed. A change may be announced
        more than once, and a change by another process not at all, so query again after a while.
        """
        ...
