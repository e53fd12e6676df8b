import asyncio

from antiphon.errors import BackendError
from antiphon.sharing.scheduler import SchedulerUsage
from antiphon.status.status import Status, status_of, together
from antiphon.upstream.backend_state import BackendState, LoadReport
from antiphon.upstream.health import MOST_FAILURES
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.retry_policy import Failure
from tests.support.parts import Listed, scripted_parts
from tests.support.waiting import let_others_run


def known(*names: str) -> tuple[list[BackendState], Status]:
    """Backends, and what is told of them after they were changed."""
    created, _ = scripted_parts()
    created.models = ModelRegistry(
        [Listed(name, ["m"]) for name in names], lambda: 0.0, clock=lambda: 100.0
    )
    return created.models.backends, status_of(created.models, len(created.process.runs), {})


def reported(*changes: tuple[int, str]) -> Status:
    created, _ = scripted_parts()
    created.models = ModelRegistry(
        [Listed("a", ["m"]), Listed("b", ["m"])], lambda: 0.0, clock=lambda: 100.0
    )
    for place, what in changes:
        _fail(created.models.backends[place], what)
    return status_of(created.models, len(created.process.runs), {})


def _fail(backend: BackendState, what: str) -> None:
    failure = Failure(429, wait=20) if what == "resting" else Failure(500)
    for _ in range(MOST_FAILURES if what == "out" else 1):
        backend.health.failed(
            failure, BackendError("What a client said.", gist=f"It is {what}."), 90.0
        )


def test_health_is_reported_with_the_last_failure_and_its_time() -> None:
    a, b = reported((0, "out"), (1, "resting")).backends

    assert (a.health, a.ejections, a.last_error, a.last_error_ago) == ("out", 1, "It is out.", 10.0)
    assert (b.health, b.rests_for, b.ejections) == ("resting", 10.0, 0)
    assert (reported().backends[0].health, reported().backends[0].last_error_ago) == ("up", None)


def test_numbers_of_several_workers_are_summed_and_disagreements_reported() -> None:
    both = together([reported((0, "out")), reported((1, "failing"))])

    assert (both.workers, [one.name for one in both.backends]) == (2, ["a", "b"])
    assert [one.health for one in both.backends] == ["mixed", "up"]
    assert [one.ejections for one in both.backends] == [1, 0]
    assert both.backends[1].last_error == "It is failing."


def test_models_are_reported_by_every_source_and_as_loaded_if_a_backend_reports_it() -> None:
    (server, *_), before = known("a")
    server.models, server.load, server.error = (
        [{"id": "m"}],
        LoadReport(loaded=frozenset({"m"})),
        "",
    )
    created, _ = scripted_parts()
    created.models.backends = [server]
    after = together([before, status_of(created.models, len(created.process.runs), {})])

    assert before.backends[0].error
    assert (after.backends[0].models, after.backends[0].loaded, after.backends[0].error) == (
        ["m"],
        ["m"],
        "",
    )


def test_slots_and_the_queue_are_reported() -> None:
    created, _ = scripted_parts()
    backend = created.models.backends[0]
    backend.update(options=BackendOptions(concurrency=3, queue=7))
    backend.slots.in_use = 2
    backend.slots.waiting = 1
    (one,) = status_of(created.models, len(created.process.runs), {}).backends

    assert (one.in_flight, one.concurrency, one.waiting, one.queue) == (2, 3, 1, 7)


async def test_the_first_request_that_waits_for_a_backend_reports_its_wait() -> None:
    created, _ = scripted_parts()
    backend = created.models.backends[0]
    backend.update(options=BackendOptions(concurrency=1, queue=7))
    before = status_of(created.models, 0, {}).backends[0]
    await backend.slots.enter()
    waiting = asyncio.create_task(backend.slots.enter())
    await let_others_run()
    after = status_of(created.models, 0, {}).backends[0]
    backend.slots.leave()
    await waiting

    assert before.oldest_wait == 0
    assert after.oldest_wait > 0
    assert (
        together([status_of(created.models, 0, {}), status_of(created.models, 0, {})])
        .backends[0]
        .oldest_wait
        == 0
    )


def test_shared_resources_of_several_workers_are_added_up_but_for_the_oldest_wait() -> None:
    created, _ = scripted_parts()
    one = status_of(
        created.models,
        0,
        {"pages": SchedulerUsage(3, 4, 2, 1.5), "calls": SchedulerUsage(9, 0, 0, 0.0)},
    )
    other = status_of(
        created.models,
        0,
        {"pages": SchedulerUsage(1, 4, 1, 2.5), "jobs": SchedulerUsage(1, 16, 0, 0.0)},
    )

    pages, calls, jobs = together([one, other]).shared
    assert (pages.name, pages.in_use, pages.capacity, pages.waiting, pages.oldest_wait) == (
        "pages",
        4,
        8,
        3,
        2.5,
    )
    assert (calls.name, calls.in_use, calls.capacity) == ("calls", 9, 0)
    assert (jobs.name, jobs.in_use, jobs.capacity) == ("jobs", 1, 16)
