"""A process's background work: how much at once, for whom first, and who is dead."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
import pytest

from antiphon.errors import StoreError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs import worker as workers
from antiphon.jobs.queue import MOST_CRASHES
from antiphon.jobs.worker import Worker
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.sharing.memory import LARGE
from antiphon.storage.operations import conversations, idempotency, leases, responses
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.records.jobs import NOTHING_RESERVED, Job, Reservation
from antiphon.storage.records.responses import StoredConversation
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.formatters import JsonLines
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from tests.support.changed_stores import ChangedStore, replace_operation
from tests.support.parts import NOW, foundation, parts_with, scripted_parts, stated
from tests.support.waiting import LoopClock, eventually, let_others_run, until

TURNS = 20
"""Turns of the loop after which a task that can go on has gone on."""


async def queue(
    created: Parts, tenant: str = "", taken: Reservation = NOTHING_RESERVED, **body: Any
) -> str:
    raw = msgspec.json.encode({"model": "m", "input": "Hi", "background": True, **body})
    return (
        await Gateway(created).queue.enqueue(
            decode_request(raw), raw, RequestIdentity(tenant, taken=taken)
        )
    ).response.id


async def status(created: Parts, response_id: str, tenant: str = "") -> str:
    stored = await created.store.read(responses.load, tenant, response_id)
    return stored.status if stored else "unknown"


async def until_ended(created: Parts, *ids: tuple[str, str]) -> None:
    for tenant, response_id in ids:
        await eventually(
            partial(status, created, response_id, tenant),
            lambda one: one not in ("queued", "in_progress"),
        )


class Gate:
    """Makes every answer of a backend wait, and counts how many do."""

    def __init__(self, backend: Any) -> None:
        self.open = asyncio.Event()
        self.waiting = self.most = 0
        self._post = backend.post
        backend.post = self.post

    async def post(self, path: str, body: bytes) -> Any:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.open.wait()
        finally:
            self.waiting -= 1
        return await self._post(path, body)

    async def until(self, count: int) -> None:
        await until(lambda: self.waiting >= count)


async def test_the_settings_limit_concurrent_jobs() -> None:
    created, backend = scripted_parts(*[stated("Hi")] * 7)
    gate = Gate(backend)
    worker = Worker(created.jobs, concurrency=3)
    worker.start()
    ids = [("", await queue(created)) for _ in range(7)]
    await gate.until(3)
    gate.open.set()
    await until_ended(created, *ids)
    await worker.close()

    assert (gate.most, created.measures.jobs.value("done")) == (3, 7)
    assert {await status(created, one) for _, one in ids} == {"completed"}


async def test_a_tenant_has_no_more_in_progress_than_it_may_and_others_pass_by() -> None:
    created, backend = scripted_parts(*[stated("Hi")] * 6)
    gate = Gate(backend)
    crowd = [("crowd", await queue(created, "crowd")) for _ in range(5)]
    other = ("other", await queue(created, "other"))
    worker = Worker(created.jobs, concurrency=10, per_tenant=2)
    worker.start()
    await gate.until(3)
    states = [await status(created, one, tenant) for tenant, one in [*crowd, other]]
    gate.open.set()
    await until_ended(created, *crowd, other)
    await worker.close()

    assert sorted(states[:5]) == ["in_progress"] * 2 + ["queued"] * 3
    assert states[5] == "in_progress"


async def test_one_tenant_alone_leaves_places_to_others() -> None:
    created, backend = scripted_parts(*[stated("Hi")] * 31)
    gate = Gate(backend)
    crowd = [("crowd", await queue(created, "crowd")) for _ in range(30)]
    worker = Worker(created.jobs, concurrency=20)
    worker.start()
    await gate.until(16)
    other = ("other", await queue(created, "other"))
    await gate.until(17)
    usage = created.shared.usage()["background_jobs"]
    gate.open.set()
    await until_ended(created, *crowd, other)
    await worker.close()

    assert (usage.in_use, usage.capacity) == (17, 20)
    assert created.shared.usage()["background_jobs"].in_use == 0
    assert gate.most <= 17  # while one tenant is alone, four fifths


async def test_a_process_may_leave_the_work_to_others() -> None:
    created, backend = scripted_parts(stated("Hi"))
    worker = Worker(created.jobs, concurrency=0)
    worker.start()
    response_id = await queue(created)
    await let_others_run()
    other = Worker(parts_with(foundation(created.models, created.store)).jobs)
    other.start()
    await until_ended(created, ("", response_id))
    await worker.close()
    await other.close()

    assert len(backend.requests) == 1


async def test_what_is_cancelled_elsewhere_is_stopped_here() -> None:
    created, backend = scripted_parts(stated("Hi"))
    gate = Gate(backend)
    worker = Worker(created.jobs)
    worker.start()
    response_id = await queue(created)
    await gate.until(1)
    elsewhere = parts_with(foundation(created.models, created.store))
    await Gateway(elsewhere).queue.cancel("", response_id)
    await until(lambda: not gate.waiting)
    await worker.close()

    assert await status(created, response_id) == "cancelled"


class Watched(ChangedStore):
    """Counts how often it is asked what a worker owns; of changes it tells only that there are
    some, if it hides.
    """

    lookups = 0
    beats = 0
    hides = False

    async def owned(self, worker: str) -> Mapping[str, int]:
        self.lookups += 1
        return await self.original.owned(worker)

    async def heartbeat(self, worker: str) -> None:
        self.beats += 1
        await self.original.heartbeat(worker)

    def on_change(self, received: Callable[[str], None]) -> None:
        super().on_change((lambda _: received("")) if self.hides else received)


@pytest.mark.parametrize(
    "hides", [False, True], ids=["what changed is known", "what changed is unknown"]
)
async def test_a_response_cancelled_elsewhere_stops_at_the_notification(
    hides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 3600.0)
    monkeypatch.setattr(Watched, "hides", hides)
    created, backend = scripted_parts(
        stated("Hi"), store=Watched.open("sqlite://", now=lambda: NOW)
    )
    gate = Gate(backend)
    worker = Worker(created.jobs)
    worker.start()
    response_id = await queue(created)
    await gate.until(1)
    await Gateway(parts_with(foundation(created.models, created.store))).queue.cancel(
        "", response_id
    )
    await until(lambda: not gate.waiting)
    await worker.close()


async def test_notifications_about_responses_of_other_workers_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 3600.0)
    clock = LoopClock(monkeypatch)
    store = Watched.open("sqlite://", now=lambda: NOW)
    created, backend = scripted_parts(stated("Hi"), store=store)
    gate = Gate(backend)
    worker = Worker(created.jobs, concurrency=1)
    worker.start()
    await queue(created)
    await gate.until(1)

    async def received() -> int:
        clock.advance(2 * workers.POLL_AFTER)
        await let_others_run(TURNS)
        return store.lookups

    before = await received()
    await Gateway(created).queue.cancel("", await queue(created))
    assert await received() == before
    assert created.shared.usage()["background_jobs"].capacity == 1
    await worker.close()


async def test_a_closed_worker_claims_nothing_and_emits_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = LoopClock(monkeypatch)
    store = Watched.open("sqlite://", now=lambda: NOW)
    created, backend = scripted_parts(stated("Hi"), store=store)
    gate = Gate(backend)
    worker = Worker(created.jobs)
    worker.start()
    returned = await queue(created)
    await gate.until(1)
    await worker.close()
    before = store.lookups, store.beats
    waits = await queue(created)
    created.process.leases.add("resp_mine")
    clock.advance(10.0)
    await let_others_run(TURNS)

    assert await status(created, waits) == "queued"
    assert (store.lookups, store.beats) == before
    claimed = [await store.write(stored_jobs.claim, "another", 10) for _ in range(2)]
    assert [job.response.id for job in claimed if job is not None] == [returned, waits]


async def test_a_worker_that_stops_leaves_what_it_reserved_to_others_at_once() -> None:
    created, _ = scripted_parts()
    worker = Worker(created.jobs)
    worker.start()
    await created.store.write(
        idempotency.reserve, "", "key", b"print", "resp_mine", created.process.worker
    )
    await worker.close()

    assert (
        await created.store.write(idempotency.reserve, "", "key", b"print", "resp_other", "another")
    ).response_id == "resp_other"


async def test_a_job_that_a_worker_owns_without_knowing_of_it_is_released_with_the_others() -> None:
    created, _ = scripted_parts()
    response_id = await queue(created)
    assert await created.store.write(stored_jobs.claim, created.process.worker, 10) is not None
    await Worker(created.jobs).release_jobs()
    job = await created.store.write(stored_jobs.claim, "another", 10)

    assert job is not None
    assert job.response.id == response_id


async def test_a_claim_with_an_internal_error_is_logged_and_the_next_claim_runs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.02)

    class Broken(ChangedStore):
        faults = 1

        async def claim(self, *caller: Any) -> Job | None:
            if self.faults:
                self.faults -= 1
                raise RuntimeError("a bug")
            return await self.original.claim(*caller)

    created, _ = scripted_parts(stated("Hi"), store=Broken.open("sqlite://", now=lambda: NOW))
    response_id = await queue(created)
    worker = Worker(created.jobs)
    worker.start()
    await until_ended(created, ("", response_id))
    await worker.close()

    assert "a bug" in caplog.text


async def test_what_a_silent_worker_left_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.02)
    monkeypatch.setattr(workers, "SILENCE", 0.0)
    created, _ = scripted_parts(stated("Hi"))
    response_id = await queue(created)
    assert await created.store.write(stored_jobs.claim, "dead", 10) is not None
    worker = Worker(created.jobs)
    worker.start()
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "completed"


async def test_a_job_waits_for_memory_that_others_use() -> None:
    created, _ = scripted_parts(stated("Hi"))
    response_id = await queue(created, input="x" * LARGE)
    used = created.run.history.memory.left
    created.run.history.memory.take(used)
    worker = Worker(created.jobs)
    worker.start()
    await until(lambda: created.measures.jobs.value("claimed"))
    await let_others_run(TURNS)
    assert await status(created, response_id) == "in_progress"
    created.run.history.memory.release(used)
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "completed"
    assert created.run.history.memory.left == created.run.history.memory.size


@pytest.mark.parametrize(("is_cancelled", "outcome"), [(False, "queued"), (True, "cancelled")])
async def test_a_requeued_job_is_not_reported_as_cancelled(
    is_cancelled: bool,
    outcome: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("INFO", "antiphon.access")
    monkeypatch.setattr(caplog.handler, "formatter", JsonLines())
    created, backend = scripted_parts(stated("Hi"))
    measures = Measures()
    created.run.observers.add(AccessLog())
    created.run.observers.add(ResponseMetrics(measures, ModelNames(created.models), time.monotonic))
    gate = Gate(backend)
    worker = Worker(created.jobs)
    worker.start()
    response_id = await queue(created)
    await gate.until(1)
    if is_cancelled:
        await Gateway(created).queue.cancel("", response_id)
    await worker.close()
    (line,) = caplog.text.splitlines()

    assert json.loads(line)["outcome"] == outcome
    assert measures.responses.value("m", "cancelled") == is_cancelled
    assert len(list(measures.responses.samples())) == is_cancelled


async def test_a_job_unknown_to_its_worker_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.02)
    created, _ = scripted_parts(stated("Hi"))
    response_id = await queue(created)
    assert (
        await created.store.write(stored_jobs.claim, created.process.worker, 10) is not None
    )  # as if the answer had been lost on its way
    worker = Worker(created.jobs)
    worker.start()
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "completed"


async def test_unused_reservations_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a store that could not be reached when it was to be freed."""
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.02)
    created, _ = scripted_parts()
    await created.store.write(conversations.create, StoredConversation("conv_1", 1, b"{}"), [])
    created.process.leases.add("resp_mine")
    await created.store.write(leases.hold, "", "conv_1", "resp_gone", created.process.worker)
    await created.store.write(
        idempotency.reserve, "", "key", b"", "resp_gone", created.process.worker
    )
    await created.store.write(
        idempotency.reserve, "", "other", b"", "resp_mine", created.process.worker
    )
    worker = Worker(created.jobs)
    worker.start()
    await eventually(
        lambda: created.store.read(leases.retained_responses, created.process.worker),
        lambda one: list(one) == ["resp_mine"],
    )
    await worker.close()


async def test_only_a_silence_that_was_watched_expires_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A watcher that was stopped itself, or could not look, has seen no silence."""
    created, _ = scripted_parts()
    await queue(created)
    assert await created.store.write(stored_jobs.claim, "dead", 10) is not None
    now = 1000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    worker = Worker(created.jobs)
    polls = 0
    for jump in (0.0, *[workers.LATE_CHECK + 0.1] * 20, 3600.0):
        now += jump
        await worker.poll_others()
        assert "dead" in await created.store.read(leases.beats), "expired though nobody watched it"
    while "dead" in await created.store.read(leases.beats):
        now += workers.POLL_INTERVAL
        polls += 1
        await worker.poll_others()

    assert polls * workers.POLL_INTERVAL >= workers.SILENCE


async def test_a_watch_restarts_after_the_store_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this server cannot reach the store, the other may not have reached it either."""

    class Failing(ChangedStore):
        fails = False

        async def heartbeats(self) -> Mapping[str, int]:
            if self.fails:
                raise StoreError("The store is unreachable.")
            return await self.original.heartbeats()

    store = Failing.open("sqlite://", now=lambda: NOW)
    created, _ = scripted_parts(store=store)
    await queue(created)
    assert await store.write(stored_jobs.claim, "dead", 10) is not None
    now = 1000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    worker = Worker(created.jobs)
    await worker.poll_others()
    polls = 0
    for store.fails in (*[False] * 5, True):
        now += workers.POLL_INTERVAL
        with pytest.raises(StoreError) if store.fails else nullcontext():
            await worker.poll_others()
    store.fails = False
    while "dead" in await store.read(leases.beats):
        now += workers.POLL_INTERVAL
        polls += 1
        await worker.poll_others()

    assert polls > workers.SILENCE / workers.POLL_INTERVAL


async def test_a_worker_that_beats_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    created, _ = scripted_parts()
    await queue(created)
    assert await created.store.write(stored_jobs.claim, "alive", 10) is not None
    now = 1000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    worker = Worker(created.jobs)
    for _ in range(100):
        now += 1
        await created.store.write(leases.beat, "alive")
        await worker.poll_others()

    assert "alive" in await created.store.read(leases.beats)


async def test_a_fault_of_our_own_fails_the_response_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    created, backend = scripted_parts(stated("Hi"), stated("Hi"))
    worker = Worker(created.jobs)
    broken = backend.post

    async def post(path: str, body: bytes) -> Any:
        backend.post = broken
        raise RuntimeError("a bug")

    backend.post = post  # type: ignore[method-assign]
    worker.start()
    ids = [("", await queue(created)) for _ in range(2)]
    await until_ended(created, *ids)
    await worker.close()

    assert sorted([await status(created, one) for _, one in ids]) == ["completed", "failed"]
    assert "a bug" in caplog.text


async def test_a_job_that_too_many_workers_died_of_fails_and_is_done() -> None:
    created, backend = scripted_parts()
    response_id = await queue(created)
    for number in range(MOST_CRASHES):
        assert await created.store.write(stored_jobs.claim, f"dead_{number}", 10) is not None
        await created.store.write(
            leases.expire_worker,
            f"dead_{number}",
            (await created.store.read(leases.beats))[f"dead_{number}"],
        )
    worker = Worker(created.jobs)
    worker.start()
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "failed"
    assert (created.measures.jobs.value("done"), backend.requests) == (1, [])


@pytest.mark.parametrize("meanwhile", ["in_progress", "cancelled"])
async def test_a_fault_fails_a_response_unless_it_belongs_to_another_by_then(
    meanwhile: str, caplog: pytest.LogCaptureFixture
) -> None:
    created, response_id = await after_a_fault_at_its_end(meanwhile)

    assert await status(created, response_id) == meanwhile
    assert [record.getMessage() for record in caplog.records if record.name == "antiphon"] == [
        "A fault in Antiphon"
    ]


async def test_a_fault_at_the_end_of_a_response_fails_it() -> None:
    created, response_id = await after_a_fault_at_its_end("failed")
    stored = await created.store.read(responses.load, "", response_id)

    assert stored is not None
    assert (stored.status, json.loads(stored.body)["error"]["code"]) == ("failed", "server_error")


async def after_a_fault_at_its_end(meanwhile: str) -> tuple[Parts, str]:
    """A response whose store failed by a fault of our own, after it was ended elsewhere or given to
    another worker.
    """

    class Breaks(ChangedStore):
        is_broken = True

        async def finish(self, *how: Any, **also: Any) -> bool:
            if not self.is_broken:
                return await self.original.finish(*how, **also)
            self.is_broken = False
            if meanwhile == "cancelled":
                await Gateway(created).queue.cancel("", response_id)
            elif meanwhile == "in_progress":
                await self.write(leases.give_back, created.process.worker, response_id)
                assert await self.write(stored_jobs.claim, "other", 10) is not None
            raise RuntimeError("a bug")

    created, _ = scripted_parts(stated("Hi"), store=Breaks.open("sqlite://", now=lambda: NOW))
    response_id = await queue(created)
    worker = Worker(created.jobs, concurrency=1)
    worker.start()
    await until(lambda: created.measures.jobs.value("claimed"))
    await until(lambda: not created.shared.usage()["background_jobs"].in_use)
    await worker.close()
    return created, response_id


async def test_a_worker_with_a_job_beats_and_spares_its_thread_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "BEAT_EVERY", 0.005)
    calls: Counter[str] = Counter()

    class Spy:
        def __init__(self, *value: Any) -> None:
            """Count what is said to the thread."""

        def __getattr__(self, name: str) -> Callable[[], None]:
            return lambda: calls.update([name])

    monkeypatch.setattr(workers, "HeartbeatThread", Spy)
    store = Watched.open("sqlite://", now=lambda: NOW)
    store.heartbeat_connection = lambda worker: object()  # type: ignore[assignment, return-value]
    created, backend = scripted_parts(stated("Hi"), store=store)
    gate = Gate(backend)
    worker = Worker(created.jobs)
    worker.start()
    await queue(created)
    await gate.until(1)
    await until(lambda: calls["beaten"] >= 2)
    await worker.close()

    assert store.beats >= 2
    assert (calls["need"], calls["close"]) == (1, 1)


async def test_work_waits_for_a_store_that_fails_and_loses_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.jobs.recorder.TRY_AGAIN", 0.01)

    class Failing(ChangedStore):
        remaining = 5

        async def finish(self, *how: Any, **also: Any) -> bool:
            if self.remaining:
                self.remaining -= 1
                raise StoreError("The store's disk is full.")
            return await self.original.finish(*how, **also)

    created, _ = scripted_parts(stated("Hi"), store=Failing.open("sqlite://", now=lambda: NOW))
    worker = Worker(created.jobs)
    worker.start()
    response_id = await queue(created)
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "completed"
    assert (
        len([text for text in caplog.messages if "Cannot store a background response" in text]) == 1
    )


async def test_a_response_runs_again_if_the_store_could_not_read_its_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.01)
    failures = 0

    async def read(*which: Any) -> Any:
        nonlocal failures
        failures += 1
        if failures in (2, 3):  # the first read is that of the request, before it is queued
            raise StoreError("The store's disk failed.")
        return await items(*which)

    created, _ = scripted_parts(stated("Hi"))
    await created.store.write(conversations.create, StoredConversation("conv_1", 1, b"{}"), [])
    items = replace_operation(created.store, conversations.items, read)
    response_id = await queue(created, conversation="conv_1")
    worker = Worker(created.jobs)
    worker.start()
    await until_ended(created, ("", response_id))
    await worker.close()

    assert await status(created, response_id) == "completed"
    assert failures == 4


async def test_a_response_with_a_window_leaves_its_slot_to_one_without_and_completes_afterwards() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    """An eighth of the slots stays free, and some for other tenants; two more are returned, and
    nothing is lost.
    """
    created, backend = scripted_parts(*[stated("Hi")] * 40)
    gate = Gate(backend)
    window = {"completion_window": "2h", "continuation_id": "c"}
    worker = Worker(created.jobs, concurrency=8)
    late = [("a", await queue(created, "a", background_options=window)) for _ in range(9)]
    worker.start()
    await gate.until(6)
    usage = created.shared.usage()
    assert (usage["deferred_jobs"].in_use, usage["background_jobs"].in_use) == (6, 0)
    soon = [("b", await queue(created, "b")) for _ in range(4)]
    for tenant, one in soon:
        await eventually(
            partial(status, created, one, tenant), lambda state: state == "in_progress"
        )
    await until(lambda: created.shared.usage()["deferred_jobs"].in_use == 4)
    assert created.shared.usage()["background_jobs"].in_use == 4
    gate.open.set()
    await until_ended(created, *soon, *late)
    await worker.close()

    assert {await status(created, one, tenant) for tenant, one in (*soon, *late)} == {"completed"}
    assert (
        created.shared.usage()["deferred_jobs"].in_use
        == created.shared.usage()["background_jobs"].in_use
        == 0
    )
    stored = await created.store.read(responses.load, "a", late[0][1])
    assert stored is not None
    assert msgspec.json.decode(stored.body)["background_options"] == window


async def test_a_worker_first_makes_what_continues_one_of_its_last_responses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "MOST_RECENT", 2)
    created, backend = scripted_parts(*[stated("Hi")] * 20)
    gate = Gate(backend)
    worker = Worker(created.jobs, concurrency=1)
    worker.start()

    async def order_of(*names: str) -> list[str]:
        """Queue responses, each of which continues those with the same letter; return the order of
        their requests.
        """
        gate.open.clear()
        ids = [("", await queue(created))]
        await gate.until(1)
        begun = len(backend.requests) + 1
        for name in names:
            options = {"continuation_id": name[0]} if len(name) == 2 else {}
            ids.append(("", await queue(created, input=name, background_options=options)))
        gate.open.set()
        await until_ended(created, *ids)
        return [request["messages"][-1]["content"] for request in backend.requests[begun:]]

    for name in ("a1", "b1", "a2", "c1"):
        assert await order_of(name) == [name]
    assert await order_of("b2", "other", "c2", "a3") == ["c2", "a3", "b2", "other"]
    await worker.close()
