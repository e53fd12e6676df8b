"""A process's background work: claims jobs, sends heartbeats, and monitors those of other workers.

No wall clock is read here. A worker expires when this one has seen no new heartbeat for `SILENCE`
seconds, by a clock of this process, in many checks. So no worker expires because a clock jumps, the
database stalls, its event loop is busy, or this process itself was stopped; and an expired worker
loses only what others claim.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from antiphon.errors import StoreError, log, reportable
from antiphon.jobs.heartbeat import HeartbeatThread
from antiphon.jobs.parts import JobParts
from antiphon.jobs.pins import PinWatch
from antiphon.jobs.queue import end, run_job
from antiphon.sharing.scheduler import RESERVED_SLOTS, SHARE, FairScheduler
from antiphon.storage.changes import JOBS
from antiphon.storage.operations import jobs, leases
from antiphon.storage.records.jobs import Job, Slots
from antiphon.telemetry.context import About, begin

# All in seconds.
BEAT_EVERY = 1.5
POLL_INTERVAL = 1.0
POLL_AFTER = 0.1
"""From news of a response that runs here to a check whether this worker still owns it."""
SILENCE = 6.0
LATE_CHECK = 3.0
"""A check that is later than this after the last follows a stop or a busy time:
it proves nothing.
"""

RunJob = Callable[[JobParts, Job], Awaitable[None]]
"""Runs a job to its end."""

MOST_RECENT = 64
"""Continuations that a worker remembers."""


@dataclass(slots=True)
class WorkerWatch:
    """The last seen heartbeat of another worker, and for how long it has not changed."""

    beat: int
    silence: float = 0.0


@dataclass(slots=True)
class Worker:
    """Runs the jobs of one process, from `start` to `close`.

    `concurrency` jobs run here at once, and one tenant leaves some to others; `per_tenant` jobs of
    a tenant at once, on all replicas together.
    """

    parts: JobParts
    concurrency: int = 64
    per_tenant: int = 1_000_000
    queues: Sequence[str] = ("",)
    """The queues of its jobs: agents, and the empty one of models."""
    run: RunJob = run_job
    announced: str = ""
    """The agents that it serves, as JSON; empty without any."""
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _claiming: list[asyncio.Task[None]] = field(default_factory=list)
    _beating: list[asyncio.Task[None]] = field(default_factory=list)
    _watched: dict[str, WorkerWatch] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    """The workers of the last check."""
    _polled: float = 0.0
    _heartbeat: HeartbeatThread | None = None
    _slots: FairScheduler = field(init=False)
    """Held by jobs that no other job ends."""
    _idle: FairScheduler = field(init=False)
    """Held by jobs that run in idle slots."""
    _recent: "dict[tuple[str, str], None]" = field(default_factory=dict)
    """The tenants and continuations of the last jobs here, oldest first."""
    _pending: "asyncio.Future[Job | None] | None" = None
    """The claim that was made last."""
    _soon: asyncio.TimerHandle | None = None
    _polls: "set[asyncio.Future[None]]" = field(default_factory=set)
    _pins: PinWatch = field(init=False)
    _strays: dict[str, float] = field(default_factory=dict)
    """What this worker owns in the store without knowing of it, with the time of detection."""

    def __post_init__(self) -> None:
        self._pins = PinWatch(self.parts)
        # A capacity of 0 would mean no limit there; with a concurrency of 0,
        # `_claim` claims nothing.
        slots = FairScheduler(max(1, self.concurrency), leaves_room=True)
        self._slots = self.parts.shared.add("background_jobs", slots)
        idle = FairScheduler(
            max(1, self.concurrency - self.concurrency // RESERVED_SLOTS), leaves_room=True
        )
        self._idle = self.parts.shared.add("deferred_jobs", idle)

    def start(self) -> None:
        """Start to claim jobs and to send heartbeats."""
        connection = self.parts.store.heartbeat_connection(self.parts.process.worker)
        if connection is not None:
            self._heartbeat = HeartbeatThread(
                connection,
                lambda: bool(self._running or self.parts.process.leases or self.announced),
            )
            self.parts.process.leases.begin = self._heartbeat.need
        self.parts.process.wakes.listen(self.parts.store)
        self.parts.store.on_change(self._receive)
        self._claiming = [
            asyncio.create_task(self._repeat(self._claim, POLL_INTERVAL)),
            asyncio.create_task(self._repeat(self._poll, POLL_INTERVAL)),
        ]
        self._beating = [asyncio.create_task(self._repeat(self.beat, BEAT_EVERY))]

    async def release_jobs(self) -> None:
        """Claim no more jobs, and return those that run here to the queue, for others."""
        if self._soon is not None:
            self._soon.cancel()
        claiming = self._claiming
        self._claiming = []
        await _cancel([*claiming, *self._polls])
        await _cancel(list(self._running.values()))
        with suppress(StoreError):
            if self._pending is not None:  # a claim in progress may have been granted
                await self._pending
            for response_id in await self.parts.store.read(leases.owned, self.parts.process.worker):
                await self.parts.store.write(
                    leases.give_back, self.parts.process.worker, response_id
                )

    async def close(self) -> None:
        """Return the jobs to the queue, and release all leases."""
        await self.release_jobs()
        await _cancel(self._beating)
        if self._heartbeat is not None:
            await asyncio.to_thread(self._heartbeat.close)
        with suppress(StoreError):
            await self.parts.store.write(leases.expire_worker, self.parts.process.worker, None)

    async def _repeat(self, act: Callable[[], Awaitable[None]], every: float) -> None:
        with self.parts.process.wakes.expect(JOBS) as change:
            while True:
                try:
                    await act()
                except StoreError as error:
                    log.debug("Cannot claim background responses: %s", error)
                except Exception as error:
                    reportable(error)  # logs it; the other loops must continue
                await (change.wait(every) if act == self._claim else asyncio.sleep(every))

    async def _claim(self) -> None:
        # Jobs in idle slots do not count: they return to the queue as soon as another one
        # needs their slot.
        while self._slots.in_use < self.concurrency:
            here = int(
                SHARE * (self.concurrency - self._slots.in_use)
            )  # the scheduler's limit for one tenant
            free = self.concurrency - len(self._running)
            idle = free - self.concurrency // RESERVED_SLOTS
            slots = Slots(free, idle, int(SHARE * idle), self._recent.keys())
            job = None
            for queue in self.queues:
                # A write that is cancelled here can still be granted in the store, so the claim
                # survives this task: `release_jobs` waits for it.
                self._pending = asyncio.ensure_future(
                    self.parts.store.write(
                        jobs.claim, self.parts.process.worker, self.per_tenant, here, slots, queue
                    )
                )
                job = await asyncio.shield(self._pending)
                if job is not None:
                    break
            if job is None:
                return
            if len(self.queues) > 1:  # the others are next
                self.queues = (*self.queues[1:], self.queues[0])
            if (
                returned := self._running.get(job.response.id)
            ) is not None:  # its slot was needed, and is free again
                await _cancel([returned])
            # This process knows which backend has their common prompt in its cache, so it claims
            # those that follow.
            if job.continuation:
                self._remember((job.response.tenant, job.continuation))
            (self._idle if job.uses_idle else self._slots).take(job.response.tenant)
            # Before the job runs: without a heartbeat, another worker would take it over.
            if self._heartbeat is not None:
                self._heartbeat.need()
            self.parts.counter.add("claimed")
            task = asyncio.create_task(self._run_job(job))
            self._running[job.response.id] = task

    def _remember(self, continuation: tuple[str, str]) -> None:
        self._recent.pop(continuation, None)
        self._recent[continuation] = None
        if len(self._recent) > MOST_RECENT:
            del self._recent[next(iter(self._recent))]

    async def _run_job(self, job: Job) -> None:
        begin(About())  # the worker may have been started within a request
        try:
            await self.run(self.parts, job)
        except StoreError as error:
            log.warning(
                "Cannot run the background response %s; retrying: %s", job.response.id, error
            )
        except Exception as error:
            await self._fail(job, error)
        finally:
            del self._running[job.response.id]
            (self._idle if job.uses_idle else self._slots).leave(job.response.tenant)
            self.parts.process.wakes.wake(JOBS)

    async def _fail(self, job: Job, error: Exception) -> None:
        known = reportable(error)
        newest = await self.parts.store.read(jobs.find_job, job.response.tenant, job.response.id)
        if newest is not None and newest.attempt == job.attempt:
            await end(self.parts, newest, known)

    def _receive(self, what: str) -> None:
        """Check a response that runs here after a change: it may have been cancelled."""
        if self._soon is None and (what in self._running if what else self._running):
            self._soon = asyncio.get_running_loop().call_later(POLL_AFTER, self._poll_soon)

    def _poll_soon(self) -> None:
        self._soon = None
        task = asyncio.ensure_future(self._poll_own())
        self._polls.add(task)
        task.add_done_callback(self._has_polled)

    def _has_polled(self, task: "asyncio.Future[None]") -> None:
        self._polls.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), StoreError):
            log.debug("Cannot check background responses: %s", error)

    async def beat(self) -> None:
        """Send a heartbeat, with the agents, if this worker needs one."""
        worker = self.parts.process.worker
        if self._running or self.parts.process.leases or self.announced:
            if self.announced:
                await self.parts.store.write(leases.beat_with_agents, worker, self.announced)
            else:
                await self.parts.store.write(leases.beat, worker)
            if self._heartbeat is not None:
                self._heartbeat.beaten()

    async def _poll(self) -> None:
        await self.poll_others()
        await self._poll_own()
        await self._pins.check()

    async def poll_others(self) -> None:
        """Expire the workers that have been silent for too long."""
        now = asyncio.get_running_loop().time()
        gap = now - self._polled
        self._polled = now
        gap = 0.0 if gap > LATE_CHECK else min(gap, 2 * POLL_INTERVAL)
        try:
            await self._judge(gap)
        except StoreError:
            self._watched.clear()  # a store that fails here may have failed for them too
            raise

    async def _judge(self, gap: float) -> None:
        beats = await self.parts.store.read(leases.beats)
        if beats.keys() != self._known:
            self._known = {*beats}
            await self.parts.agents.refresh(self.parts.store)
        for worker in self._watched.keys() - beats.keys():
            del self._watched[worker]
        for worker, beat in beats.items():
            watch = self._watched.get(worker)
            if worker == self.parts.process.worker or watch is None or watch.beat != beat:
                self._watched[worker] = WorkerWatch(beat)
                continue
            watch.silence += gap
            if watch.silence >= SILENCE and await self.parts.store.write(
                leases.expire_worker, worker, beat
            ):
                log.warning(
                    "%s has sent no heartbeat for %.0f s. Others may take over its jobs and leases.",  # noqa: E501 - one text, or a row of a table
                    worker,
                    SILENCE,
                )
                del self._watched[worker]

    async def _poll_own(self) -> None:
        """Stop jobs that others own or have ended; release what this worker owns unknowingly."""
        running = set(self._running)
        owned = await self.parts.store.read(leases.owned, self.parts.process.worker)
        for response_id in running - owned.keys():
            if task := self._running.get(response_id):
                task.cancel()
        retained = await self.parts.store.read(leases.retained_responses, self.parts.process.worker)
        now = asyncio.get_running_loop().time()
        strays = (owned.keys() - self._running.keys()) | (set(retained) - self.parts.process.leases)
        self._strays = {one: self._strays.get(one, now) for one in strays}
        # Only after a while: a check can run between a step in the store and the same step here.
        for response_id in [
            one for one, since in self._strays.items() if now - since >= POLL_INTERVAL
        ]:
            await self.parts.store.write(leases.give_back, self.parts.process.worker, response_id)
            await self.parts.store.write(leases.release, self.parts.process.worker, response_id)


async def _cancel(tasks: "Sequence[asyncio.Future[None]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
