"""Which slots deferred jobs use, in any order of events, beyond what `check_store` holds of every
store.
"""

import random
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, leases
from antiphon.storage.operations.step import query_rows
from antiphon.storage.records.jobs import Backlog, Deferral, Job, LockResult, Slots
from antiphon.storage.sqlite.file import open_reader
from antiphon.storage.sqlite.rows import perform_alone
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from tests.store.making import new_response
from tests.support.acts import act_of
from tests.support.chance import SEED
from tests.support.stores import opened

TENANTS = ("a", "b")
WORKERS = ("one", "two")
SLOTS = 3
RESERVED_SLOTS = 1
LATER = int(time.time()) + 86_400
BEGIN_BY = {"soonest": 0, "due": 1, "idle": LATER}
STEPS = 40


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


async def put(store: Store, begin_by: int, tenant: str, continuation: str = "") -> str:
    queued = replace(new_response(status="queued"), tenant=tenant)
    await store.write(jobs.enqueue, queued, b"", [], deferral=Deferral(begin_by, continuation))
    return queued.id


@dataclass
class Queue:
    """A store with two workers of three slots, and what the test knows of its jobs."""

    store: Store
    chance: random.Random
    kinds: dict[str, str] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    async def put(self, kind: str = "") -> None:
        queued = replace(new_response(status="queued"), tenant=self.chance.choice(TENANTS))
        self.kinds[queued.id] = kind or self.chance.choice(list(BEGIN_BY))
        self.waiting.add(queued.id)
        await self.store.write(
            jobs.enqueue, queued, b"", [], deferral=Deferral(BEGIN_BY[self.kinds[queued.id]])
        )

    def waits(self, kind: str) -> bool:
        return any(self.kinds[one] == kind for one in self.waiting)

    async def running(self, worker: str) -> list[Job]:
        found = [
            await self.store.read(jobs.find_job, tenant, one)
            for one in await self.store.read(leases.owned, worker)
            for tenant in TENANTS
        ]
        return [job for job in found if job is not None]

    async def claim(self, worker: str) -> None:
        before = await self.running(worker)
        free = SLOTS - len(before)
        job = await self.store.write(
            jobs.claim, worker, 1_000_000, None, Slots(free, free - RESERVED_SLOTS)
        )
        for one in WORKERS:
            for running in await self.running(one):
                self.waiting.discard(running.response.id)
        owned = await self.store.read(leases.owned, worker)
        self.waiting |= {one.response.id for one in before} - owned.keys()
        if job is None:
            assert not self.waits("soonest")
            assert not (self.waits("due") and free > 0)
            assert not (self.waits("idle") and free > RESERVED_SLOTS)
            return
        kind = self.kinds[job.response.id]
        assert kind == "soonest" or not self.waits("soonest")
        assert kind != "idle" or (not self.waits("due") and free > RESERVED_SLOTS)
        assert len(owned) <= SLOTS
        assert job.uses_idle is (kind == "idle")
        returned = {one.response.id for one in before} - owned.keys()
        assert {self.kinds[one] for one in returned} <= {"idle"}
        assert not returned or free <= 0

    async def finish(self, worker: str) -> None:
        running = await self.running(worker)
        if running:
            job = self.chance.choice(running)
            await self.store.write(jobs.finish, job, replace(job.response, status="completed"))

    async def step(self) -> None:
        worker = self.chance.choice(WORKERS)
        steady = [job for job in await self.running(worker) if not job.uses_idle]
        act = self.chance.choice(["put", "put", "claim", "claim", "claim", "finish"])
        if act == "put":
            await self.put()
        elif act == "finish":
            await self.finish(worker)
        elif len(steady) < SLOTS:  # a worker with other jobs in all slots claims none
            await self.claim(worker)


async def test_no_deferred_job_takes_a_slot_that_another_could_use_and_each_begins_when_one_is_free(
    store: Store,
) -> None:
    """Each claim is compared with what waited at that moment; in the end no job is left."""
    queue = Queue(store, random.Random(SEED))
    for _ in range(STEPS):
        await queue.step()
    while queue.waiting:
        for worker in WORKERS:
            await queue.finish(worker)  # first: a worker with other jobs in all slots claims none
            await queue.claim(worker)


async def test_jobs_in_idle_slots_do_not_put_the_other_jobs_of_their_tenant_back(
    store: Store,
) -> None:
    """A tenant with two of them comes before one with a job that nothing returns."""
    retained = [("a", LATER), ("a", LATER), ("b", 0)]
    for tenant, begin_by in retained:
        await put(store, begin_by, tenant)
        assert (
            await store.write(jobs.claim, "one", 1_000_000, None, Slots(SLOTS, SLOTS)) is not None
        )
    for tenant in ("b", "a"):
        await put(store, 0, tenant)

    claimed = [
        await store.write(jobs.claim, "two", 1_000_000, None, Slots(SLOTS, SLOTS)) for _ in TENANTS
    ]

    assert [job.response.tenant for job in claimed if job] == ["a", "b"]


async def test_a_claim_reads_only_the_idle_slots_of_its_worker_and_tenant(tmp_path: Path) -> None:
    """The others stay unlocked, for the claims of other workers."""
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db")
    for worker in WORKERS:
        for tenant in TENANTS:
            await put(store, LATER, tenant)
            assert (
                await store.write(jobs.claim, worker, 1_000_000, None, Slots(SLOTS, SLOTS))
                is not None
            )
    await store.close()
    with closing(open_reader(tmp_path / "antiphon.db")) as connection:
        rows = perform_alone(connection, act_of(query_rows, "in_idle_slots", "one", "a", "key"))

    assert [row[1:] for row in rows] == [(0, 1, 0), (1, 0, 0), (1, 1, 0)]  # the newest first


async def test_a_job_that_needs_a_slot_and_the_share_of_its_tenant_puts_back_one_job_for_each(
    store: Store,
) -> None:
    for tenant, worker in (("a", "two"), ("b", "one")):
        await put(store, LATER, tenant)
        assert await store.write(jobs.claim, worker, 1, None, Slots(SLOTS, SLOTS)) is not None
    needs = await put(store, 0, "a")
    claimed = await store.write(jobs.claim, "one", 1, None, Slots(0, 0))

    assert claimed is not None and claimed.response.id == needs
    assert (await store.read(leases.owned, "one")).keys() == {needs}
    assert not await store.read(leases.owned, "two")


async def test_jobs_that_were_lost_or_are_due_come_before_those_that_continue_a_recent_one(
    store: Store,
) -> None:
    async def claim(worker: str) -> tuple[str, int] | None:
        job = await store.write(
            jobs.claim, worker, 1_000_000, None, Slots(SLOTS, SLOTS, SLOTS, {("a", "recent")})
        )
        return job and (job.response.id, job.crashes)

    lost = await put(store, 0, "a")
    assert await claim("lost") == (lost, 0)
    assert await store.write(leases.expire_worker, "lost", 0)
    soonest = await put(store, 0, "a", "recent")
    due = await put(store, BEGIN_BY["due"], "a")
    idle = await put(store, LATER, "a", "recent")
    assert [await claim("other") for _ in range(4)] == [
        (lost, 1),
        (soonest, 0),
        (due, 0),
        (idle, 0),
    ]


async def test_a_job_that_continues_one_of_its_own_tenant_comes_first_whatever_others_ran_there(
    store: Store,
) -> None:
    ids = [await put(store, 0, "a", continuation) for continuation in ("", "other", "recent")]
    slots = Slots(SLOTS, SLOTS, SLOTS, {("b", "other"), ("a", "recent")})
    claimed = [await store.write(jobs.claim, "one", 1_000_000, None, slots) for _ in ids]

    assert [job.response.id for job in claimed if job] == [ids[2], ids[0], ids[1]]


@pytest.mark.parametrize(
    ("own", "other"), [(LATER, 0), (0, LATER)], ids=["deferred", "not deferred"]
)
async def test_a_queue_is_filled_by_the_jobs_of_its_tenant_and_kind_that_wait_and_by_no_others(
    store: Store, own: int, other: int
) -> None:
    async def queue() -> LockResult:
        queued = replace(new_response(status="queued"), tenant="a")
        return await store.write(jobs.enqueue, queued, b"", [], most=1, deferral=Deferral(own))

    await put(store, own, "a")
    assert await store.write(jobs.claim, "one", 1_000_000, None, Slots(SLOTS, SLOTS)) is not None
    await put(store, own, "b")
    await put(store, other, "a")

    assert [await queue(), await queue()] == [LockResult.DONE, LockResult.FULL]


async def test_the_backlog_has_the_jobs_that_no_living_worker_runs_and_those_of_them_that_are_overdue(  # noqa: E501 - one text, or a row of a table
    store_url: str,
) -> None:
    """A deferred job is overdue 600 seconds after its `begin_by`, here."""
    async with opened(store_url, now=lambda: 1000) as store:
        for begin_by in (0, 399, 400):
            await put(store, begin_by, "a")
        waiting = Backlog(1, 0, deferred=2, overdue=1)

        assert await store.read(jobs.backlog, 600) == waiting
        await store.write(leases.beat, "one")
        for _ in range(3):
            assert (
                await store.write(jobs.claim, "one", 1_000_000, None, Slots(SLOTS, SLOTS))
                is not None
            )
        assert await store.read(jobs.backlog, 600) == Backlog(0, 0)
        assert await store.write(
            leases.expire_worker, "one", (await store.read(leases.beats))["one"]
        )
        assert await store.read(jobs.backlog, 600) == waiting
