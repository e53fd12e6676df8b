import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.protocol.requests import BackgroundOptions, CreateResponse
from antiphon.upstream.backend import Listing
from antiphon.upstream.backend_state import LoadReport
from antiphon.upstream.candidates import Candidates
from antiphon.upstream.chains import chains_of, with_continuation
from antiphon.upstream.health import MOST_FAILURES, PROBE_AFTER
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.retry_after import LONGEST_WAIT
from antiphon.upstream.retry_policy import LONGEST_PAUSE, Failure
from antiphon.upstream.router import Route, Router
from tests.support.chance import examples
from tests.support.parts import Listed
from tests.support.waiting import let_others_run

ERROR = BackendError("It failed.")
RATE = ClientError("Slow down.", status=429, type="requests", code="rate_limit_exceeded")


@asynccontextmanager
async def slot(route: Route) -> AsyncIterator[None]:
    await route.acquire()
    try:
        yield
    finally:
        route.release()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Field:
    """Backends that all list the model `m`, unless a name says otherwise (`a:x` lists x)."""

    def __init__(
        self,
        *names: str,
        fallback: dict[str, Sequence[str]] | None = None,
        **shares: BackendOptions,
    ) -> None:
        self.clock = Clock()
        backends = [Listed(name[0], [name[2:] or "m"]) for name in names]
        self.models = ModelRegistry(
            backends, lambda: 0.0, options=shares, fallback=fallback, clock=self.clock
        )
        self.router = Router(self.models)
        self.server = {state.name: state for state in self.models.backends}

    async def route(
        self, *chains: str, model: str = "m", tenant: str = "", is_patient: bool = False
    ) -> Route:
        return await self.router.route(model, *chains, tenant=tenant, is_patient=is_patient)

    async def answer(self, *chains: str) -> str:
        """One request that is answered; who answered."""
        route = await self.route(*chains)
        async with slot(route):
            route.succeeded(*chains)
        return route.target.state.name

    def eject(self, name: str) -> None:
        while not self.server[name].health.is_ejected:
            self.broke(name, Failure(500), ERROR)

    def broke(self, name: str, failure: Failure, error: AntiphonError, tenant: str = "") -> None:
        candidates = Candidates.of([self.server[name].target("m", "m")])
        Route(self.router, candidates, (), tenant, is_patient=True, is_late=False).report_failure(
            failure, error
        )


def caller(route: Route) -> str:
    return route.target.state.name


async def test_requests_one_after_the_other_are_spread_by_weight() -> None:
    field = Field("a", "b", a=BackendOptions(weight=3))

    answered = [await field.answer() for _ in range(40)]
    assert (answered.count("a"), answered.count("b")) == (30, 10)


async def test_requests_at_once_are_spread_by_weight() -> None:
    field = Field("a", "b", a=BackendOptions(weight=3))
    for _ in range(40):
        await (await field.route()).acquire()

    assert [supported.slots.in_use for supported in field.server.values()] == [30, 10]


async def test_a_chain_returns_to_its_last_backend_unless_that_one_is_full() -> None:
    field = Field("a", "b", a=BackendOptions(concurrency=1), b=BackendOptions(concurrency=1))
    first = await field.answer("resp_1")
    assert [await field.answer("resp_1") for _ in range(5)] == [first] * 5

    retaining = await field.route("resp_1")
    async with slot(retaining):
        assert caller(await field.route("resp_1")) != first


async def test_a_chain_is_found_by_any_of_its_names_the_most_specific_first() -> None:
    field = Field("a", "b")
    field.router.follow(["resp_1"], "b")
    field.router.follow(["conv_1"], "a")

    assert caller(await field.route("resp_1", "conv_1")) == "b"
    assert caller(await field.route("resp_2", "conv_1")) == "a"


def test_chains_are_those_of_one_tenant() -> None:
    request = CreateResponse(
        model="m", previous_response_id="resp_1", prompt_cache_key="key", conversation="conv_1"
    )

    assert chains_of(request, "t") == ["t\0resp_1", "t\0conv_1", "t\0key"]
    assert not set(chains_of(request, "t")) & set(chains_of(request, "u"))
    assert chains_of(CreateResponse(model="m"), "t") == []


def test_a_continuation_prefers_a_backend_after_all_chains_and_is_no_chain_itself() -> None:
    options = BackgroundOptions(continuation_id="key")
    request = CreateResponse(model="m", prompt_cache_key="key", background_options=options)
    own, other = (with_continuation(["chain"], request, tenant) for tenant in ("t", "u"))

    assert own[0] == "chain" and len(own) == 2
    assert chains_of(request, "t") == ["t\0key"] != [own[1]]
    assert own[1] != other[1]
    assert with_continuation(["chain"], CreateResponse(model="m"), "t") == ["chain"]


async def test_the_loaded_model_is_tried_first_and_an_unreported_state_counts_as_loaded() -> None:
    field = Field("a", "b", "c")
    field.server["a"].load = LoadReport(loaded=frozenset({"other"}))
    field.server["b"].load = LoadReport(loaded=frozenset({"m"}))

    assert {await field.answer() for _ in range(10)} == {"b", "c"}


async def test_a_backend_without_free_slots_is_called_last() -> None:
    field = Field("a", "b")
    field.server["a"].load = LoadReport(free=0)

    assert {await field.answer() for _ in range(10)} == {"b"}


async def test_requests_that_wait_at_a_backend_count_as_its_load() -> None:
    one = BackendOptions(concurrency=1)
    field = Field("a", "b", a=one, b=one)
    for name in "ab":
        field.router.follow([name], name)
    assert [await field.answer("b") for _ in range(5)] == ["b"] * 5  # so it would not be its turn
    async with slot(await field.route("a")), slot(await field.route("b")):
        waiting = [asyncio.create_task((await field.route("a")).acquire()) for _ in range(2)]
        await _settle()
        assert [state.slots.waiting for state in field.server.values()] == [2, 0]
        assert caller(await field.route(is_patient=True)) == "b"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_an_ejected_backend_is_left_out_until_its_probe() -> None:
    field = Field("a", "b")
    field.eject("a")
    assert {await field.answer() for _ in range(10)} == {"b"}

    field.clock.now += PROBE_AFTER
    answered = [await field.answer() for _ in range(10)]
    assert "a" in answered
    assert not field.server["a"].health.is_ejected


async def test_only_one_request_at_a_time_probes() -> None:
    field = Field("a", "b")
    field.eject("a")
    field.clock.now += PROBE_AFTER
    probes = [caller(route) for route in [await retained(field) for _ in range(10)]]

    assert probes.count("a") == 1


async def retained(field: Field) -> Route:
    route = await field.route()
    await route.acquire()
    return route


async def test_the_last_candidate_is_called_however_often_it_fails() -> None:
    field = Field("a", "b")
    field.eject("a")
    field.eject("b")

    assert (await field.answer()) in {"a", "b"}


async def test_failover_tries_at_most_three_backends_and_the_first_again_last() -> None:
    field = Field("a", "b")
    route = await field.route()
    requested = [caller(route)]
    while route.fail_over(Failure(500), ERROR):
        requested.append(caller(route))

    assert len(requested) == 3
    assert set(requested[:2]) == {"a", "b"}


async def test_the_only_backend_is_not_retried() -> None:
    route = await Field("a").route()

    assert not route.fail_over(Failure(500), ERROR)


async def test_each_question_of_a_response_has_its_three_attempts() -> None:
    route = await Field("a", "b").route()
    for _ in range(4):
        assert route.fail_over(Failure(0), ERROR)
        route.succeeded()


async def test_the_clients_own_mistake_moves_nothing_and_costs_no_backend_its_health() -> None:
    field = Field("a", "b")
    route = await field.route()

    assert not route.fail_over(Failure(400), ClientError("No."))
    assert all(not supported.health.failures for supported in field.server.values())


async def test_under_a_full_outage_calls_are_at_most_a_tenth_more_than_requests() -> None:
    field = Field("a", "b", "c")
    calls = 0
    for _ in range(1000):
        field.clock.now += 0.01
        route = await field.route()
        async with slot(route):
            calls += 1
        while route.fail_over(Failure(503), ERROR):
            async with slot(route):
                calls += 1

    assert calls <= 1100 + 10


async def test_failing_requests_of_one_tenant_leave_the_retries_of_others() -> None:
    field = Field("a", "b")

    async def moves(tenant: str) -> bool:
        moved = (await field.route(tenant=tenant)).fail_over(Failure(500), ERROR)
        for supported in field.server.values():
            supported.health.succeeded()
        return moved

    assert [await moves("noisy") for _ in range(12)] == [True] * 10 + [False] * 2
    assert await moves("quiet")


async def test_each_request_earns_a_tenth_of_a_retry_after_all_retries_are_spent() -> None:
    field = Field("a", "b")

    async def request(times: int) -> None:
        for _ in range(times):
            async with slot(await field.route(tenant="t")):
                pass

    assert [field.router.spend("t") for _ in range(11)] == [True] * 10 + [False]
    await request(9)
    assert not field.router.spend("t")
    await request(2)  # one more than exact tenths need
    assert [field.router.spend("t") for _ in range(2)] == [True, False]


async def test_a_budget_of_retries_that_is_full_again_is_forgotten() -> None:
    field = Field("a", "b")
    assert (await field.route(tenant="t")).fail_over(Failure(500), ERROR)
    assert list(field.router.budgets) == ["t"]
    for _ in range(20):
        async with slot(await field.route(tenant="t")):
            pass

    assert not field.router.budgets


async def test_failover_from_an_idle_backend_costs_no_budget() -> None:
    field = Field("a", "b")
    for _ in range(100):
        route = await field.route()
        assert route.fail_over(Failure(0), ERROR)
        route.succeeded()
        field.server["a"].health.succeeded()
        field.server["b"].health.succeeded()


async def test_a_rate_limited_backend_pauses_and_the_client_receives_the_wait() -> None:
    field = Field("a", "b")
    field.broke("a", Failure(429, "rate_limit_exceeded", 20), RATE)
    assert {await field.answer() for _ in range(5)} == {"b"}

    field.broke("b", Failure(429, "rate_limit_exceeded", 30), RATE)
    field.clock.now += 5
    with pytest.raises(ClientError) as caught:
        await field.route()
    assert (caught.value.status, caught.value.headers) == (429, {"retry-after": "15"})
    assert caught.value.message.endswith("Please try again in 15s.")
    field.clock.now += 15
    assert await field.answer() == "a"


async def test_a_backend_with_a_rate_limited_model_is_called_for_its_other_models() -> None:
    field = Field("a")
    field.models.backends[0].update(options=BackendOptions(models=frozenset({"m", "small"})))
    field.broke("a", Failure(429, "rate_limit_exceeded", 20), RATE)

    assert caller(await field.route(model="small")) == "a"
    with pytest.raises(ClientError):
        await field.route()


async def test_a_key_without_quota_is_requested_once_and_then_paused() -> None:
    quota = ClientError(
        "No quota.", status=429, type="insufficient_quota", code="insufficient_quota"
    )
    field = Field("a")
    field.broke("a", Failure(429, "insufficient_quota"), quota)
    for _ in range(100):
        with pytest.raises(ClientError, match="No quota"):
            await field.route()

    assert field.server["a"].requested == 0


REFUSED = BackendError("It refused this server's credentials.")


async def test_a_backend_that_rejects_a_key_is_skipped_unless_it_is_the_only_one() -> None:
    field = Field("a", "b")
    field.broke("a", Failure(401), REFUSED)
    assert {await field.answer() for _ in range(10)} == {"b"}
    field.clock.now += PROBE_AFTER
    assert "a" in [await field.answer() for _ in range(10)]

    field = Field("a")
    for _ in range(10):
        field.broke("a", Failure(401), REFUSED)
        assert await field.answer() == "a"


async def test_a_rejection_about_one_request_moves_it_and_pauses_nothing() -> None:
    field = Field("a", "b")
    route = await field.route()
    first = caller(route)
    assert route.fail_over(Failure(429, "rate_limit_exceeded", 600, is_about_request=True), RATE)

    assert caller(route) != first
    assert all(not supported.health.pauses for supported in field.server.values())


async def test_what_the_backend_rejects_of_one_tenant_pauses_it_for_that_tenant_alone() -> None:
    field = Field("a")
    field.broke("a", LIMITED, RATE, "noisy")

    with pytest.raises(ClientError):
        await field.route(tenant="noisy")
    assert caller(await field.route(tenant="quiet")) == "a"
    field.broke("a", LIMITED, RATE, "quiet")
    for tenant in ("noisy", "quiet", "third"):
        with pytest.raises(ClientError):
            await field.route(tenant=tenant)


LIMITED = Failure(429, "rate_limit_exceeded", 600)


async def paused(field: Field) -> list[Route]:
    """Requests that were accepted before the backend was paused, at the moment when one of them may
    find out.
    """
    routes = [await field.route() for _ in range(5)]
    field.broke("a", LIMITED, RATE)
    field.clock.now += LONGEST_PAUSE
    return routes


async def refused(field: Field) -> ClientError:
    with pytest.raises(ClientError) as caught:
        await field.route()
    return caught.value


async def test_one_request_finds_out_and_the_others_are_rejected_until_its_verdict() -> None:
    field = Field("a")
    probe, other, *_ = await paused(field)
    await probe.acquire()
    with pytest.raises(ClientError) as caught:
        await other.acquire()
    assert (caught.value.code, caught.value.headers) == (
        "rate_limit_exceeded",
        {"x-should-retry": "false"},
    )
    assert (await refused(field)).code == "rate_limit_exceeded"

    probe.lift()
    assert await field.answer() == "a"
    probe.release()
    assert not field.server["a"].health.pauses


async def test_a_rejected_probe_pauses_again_and_an_inconclusive_one_is_followed_by_the_next() -> (
    None
):
    field = Field("a")
    probe, other, *_ = await paused(field)
    async with slot(probe):
        pass  # its client left
    async with slot(other):
        other.report_failure(LIMITED, RATE)

    assert field.server["a"].requested == 2
    assert (await refused(field)).headers == {"x-should-retry": "false"}


async def test_a_clients_own_mistake_shows_too_that_a_pause_is_over() -> None:
    field = Field("a")
    probe, *_ = await paused(field)
    async with slot(probe):
        probe.report_failure(Failure(400), ClientError("No."))

    assert not field.server["a"].health.pauses


async def test_a_request_that_waited_for_a_slot_is_not_sent_to_a_backend_that_was_paused_meanwhile() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    field = Field("a", a=BackendOptions(concurrency=1))
    first = await field.route()
    await first.acquire()
    waiting = asyncio.create_task((await field.route()).acquire())
    await let_others_run()
    first.report_failure(LIMITED, RATE)
    first.release()

    with pytest.raises(ClientError):
        await waiting
    slots = field.server["a"].slots
    assert (field.server["a"].requested, slots.in_use, slots.waiting) == (1, 0, 0)


async def test_a_request_that_waited_for_a_slot_is_sent_if_the_pause_is_about_another_tenant() -> (
    None
):
    field = Field("a", a=BackendOptions(concurrency=1))
    first = await field.route(tenant="t")
    await first.acquire()
    second = await field.route(tenant="u")
    waiting = asyncio.create_task(second.acquire())
    await let_others_run()
    first.report_failure(LIMITED, RATE)
    first.release()
    async with asyncio.timeout(30):
        await waiting
    second.release()

    slots = field.server["a"].slots
    assert (field.server["a"].requested, slots.in_use, slots.waiting) == (2, 0, 0)


class Slow(Listed):
    """A backend that lists its models once it may."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ["m"])
        self.may = asyncio.Event()
        self.is_requested = asyncio.Event()

    async def list_models(self) -> Listing:
        self.is_requested.set()
        await self.may.wait()
        return await super().list_models()


async def listing(queue: int = 100) -> tuple[Router, list[Slow], asyncio.Task[None]]:
    """Two backends that do one thing at a time, while they list their models; `a` has the chain
    `resp_1` warm.
    """
    backends = [Slow("a"), Slow("b")]
    for backend in backends:
        backend.may.set()
    options = {backend.name: BackendOptions(queue=queue) for backend in backends}
    registry = ModelRegistry(
        backends, lambda: 0.0, dict.fromkeys("ab", "llama-cpp-python"), options
    )
    await registry.refresh()
    router = Router(registry)
    router.follow(["resp_1"], "a")
    for backend in backends:
        backend.may.clear()
        backend.is_requested.clear()
    task = asyncio.create_task(registry.refresh())
    for backend in backends:
        await backend.is_requested.wait()
    return router, backends, task


async def test_a_chain_stays_with_its_warm_backend_while_that_one_lists_its_models() -> None:
    router, backends, refresh = await listing(queue=0)
    route = await router.route("m", "resp_1")
    assert caller(route) == "a"

    acquired = asyncio.create_task(route.acquire())
    await let_others_run(5)
    assert not acquired.done(), "a request goes out beside the list"
    for backend in backends:
        backend.may.set()
    await acquired
    await refresh
    assert route.target.state.slots.in_use == 1
    assert route.target.state.listing is None


async def test_a_request_that_is_cancelled_while_models_are_listed_leaves_nothing_behind() -> None:
    router, backends, refresh = await listing()
    routes = [await router.route("m", "resp_1") for _ in range(2)]
    first, second = [asyncio.create_task(route.acquire()) for route in routes]
    await let_others_run()
    first.cancel()
    for backend in backends:
        backend.may.set()
    await refresh
    await second

    assert [state.slots.in_use for state in router.registry.backends] == [1, 0]


async def _chosen_before(
    concurrency: int, hostile: int, ended: Sequence[int], last: Sequence[int]
) -> list[str]:
    """Return which of `hostile` tenants with 1,000 waiting requests get a slot between B's request
    and its slot.

    Requests end in any order: `ended` are those before B's request, `last` those after it, over and
    over. None of these tenants may hold another slot when it gets one.
    """
    field = Field("a", a=BackendOptions(concurrency=concurrency, queue=2000))
    await field.models.refresh()
    running: list[tuple[str, Route]] = []
    pending = [
        asyncio.create_task(_hold(field, f"A{number % hostile}", running)) for number in range(1000)
    ]
    await _settle()
    assert len(running) == concurrency
    for which in ended:
        running.pop(which % len(running))[1].release()
        await _settle()

    pending.append(asyncio.create_task(_hold(field, "B", running)))
    await _settle()
    server: list[str] = []
    for which in itertools.cycle(last):
        running.pop(which % len(running))[1].release()
        await _settle()
        tenant = running[-1][0]
        assert [one for one, _ in running].count(tenant) == 1
        if tenant == "B":
            break
        server.append(tenant)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return server


ENDS = st.lists(st.integers(0, 7), max_size=20)


@examples(20)
@given(st.integers(1, 8), st.integers(1, 3), ENDS, ENDS.filter(len))
@example(1, 3, [], [0])
@example(2, 3, [0, 0], [1])
def test_a_tenant_with_one_request_waits_for_fewer_requests_than_there_are_other_tenants(
    concurrency: int, hostile: int, ended: list[int], last: list[int]
) -> None:
    server = asyncio.run(_chosen_before(concurrency, hostile, ended, last))
    assert len(server) < hostile
    assert len(set(server)) == len(server)


async def test_tenants_that_waited_before_take_one_turn_each_before_a_new_one() -> None:
    assert await _chosen_before(1, 3, [], [0]) == ["A1", "A2"]
    assert await _chosen_before(1, 1, [0, 0], [0]) == []


async def _hold(field: Field, tenant: str, running: list[tuple[str, Route]]) -> None:
    route = await field.route(tenant=tenant)
    await route.acquire()
    running.append((tenant, route))


async def _settle() -> None:
    await let_others_run(4)


async def test_a_tenant_alone_may_use_every_slot_of_a_backend() -> None:
    field = Field("a", a=BackendOptions(concurrency=4))
    async with AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(slot(await field.route(tenant="alone")))
        assert field.server["a"].slots.free == 0


async def test_no_tenant_has_more_requests_at_a_backend_than_its_share() -> None:
    field = Field(
        "a",
        "b",
        **{name: BackendOptions(concurrency=4, tenant_concurrency=1, queue=0) for name in "ab"},
    )
    async with slot(await field.route(tenant="noisy")), slot(await field.route(tenant="noisy")):
        with pytest.raises(BackendError) as caught:
            await field.route(tenant="noisy")
        assert caught.value.code == "server_is_overloaded"
        assert [supported.slots.in_use for supported in field.server.values()] == [1, 1]
        await (await field.route(tenant="quiet")).acquire()


async def test_a_slot_is_returned_if_the_limit_of_its_backend_is_removed_meanwhile() -> None:
    field = Field("a", a=BackendOptions(concurrency=1))
    state = field.server["a"]
    async with slot(await field.route(tenant="t")):
        state.update(options=BackendOptions())
    state.update(options=BackendOptions(concurrency=1))
    async with slot(await field.route(tenant="t")):
        assert (state.slots.in_use, state.slots.free) == (1, 0)
    assert (state.slots.in_use, state.slots.tenants) == (0, set())


async def test_a_full_queue_refuses_and_background_work_waits_all_the_same() -> None:
    field = Field("a", a=BackendOptions(concurrency=1, queue=0))
    async with slot(await field.route()):
        with pytest.raises(BackendError) as caught:
            await field.route()
        assert (caught.value.status, caught.value.code) == (503, "server_is_overloaded")
        assert "retry-after" in caught.value.headers
        assert caller(await field.route(is_patient=True)) == "a"


async def test_a_queue_that_is_full_by_the_time_of_the_call_refuses_it() -> None:
    field = Field("a", a=BackendOptions(concurrency=1, queue=1))
    routes = [await field.route() for _ in range(3)]
    await routes[0].acquire()
    waiting = asyncio.create_task(routes[1].acquire())
    await let_others_run()
    with pytest.raises(BackendError) as caught:
        await routes[2].acquire()
    assert (caught.value.status, caught.value.code) == (503, "server_is_overloaded")

    routes[0].release()
    await waiting
    routes[1].release()
    slots = field.server["a"].slots
    assert (field.server["a"].requested, slots.in_use, slots.waiting) == (2, 0, 0)


async def test_background_work_waits_for_the_backend_of_its_chain_where_all_queues_are_full() -> (
    None
):
    field = Field("a", "b", **{name: BackendOptions(concurrency=1, queue=0) for name in "ab"})
    field.router.follow(["resp_1"], "b")
    async with slot(await field.route()), slot(await field.route()):
        assert caller(await field.route("resp_1", is_patient=True)) == "b"


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were slept, on the clock of `Field` alone."""
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        monkeypatch.setattr(Clock, "now", Clock.now + seconds)

    monkeypatch.setattr("antiphon.upstream.router.asyncio.sleep", sleep)
    return naps


def limited(field: Field, **waits: float) -> None:
    for name, wait in waits.items():
        field.broke(name, Failure(429, "rate_limit_exceeded", wait), RATE)


async def test_background_work_waits_for_the_pause_that_ends_first(
    slept: list[float],
) -> None:
    field = Field("a", "b")
    limited(field, a=100, b=20)
    route = await field.route(is_patient=True)
    async with slot(route):
        assert caller(route) == "b"

    assert slept == [20.0]


async def test_what_was_begun_waits_likewise(slept: list[float]) -> None:
    field = Field("a")
    route = await field.route()
    route.succeeded()
    limited(field, a=7)
    async with slot(route):
        assert slept == [7.0]


async def test_background_work_neither_waits_for_a_long_pause_nor_calls_a_paused_backend(
    slept: list[float],
) -> None:
    field = Field("a")
    limited(field, a=LONGEST_WAIT + 1)
    route = await field.route(is_patient=True)
    with pytest.raises(ClientError) as caught:
        await route.acquire()

    assert (caught.value.code, caught.value.headers) == (
        "rate_limit_exceeded",
        {"x-should-retry": "false"},
    )
    assert (slept, field.server["a"].requested, field.server["a"].slots.in_use) == ([], 0, 0)


async def test_a_backend_paused_after_its_selection_is_skipped_for_an_available_one() -> None:
    field = Field("a", "b")
    route = await field.route()
    first = caller(route)
    assert not route.redirect()
    limited(field, **{first: 20})

    assert route.redirect()
    assert caller(route) != first
    limited(field, **{caller(route): 20})
    assert not route.redirect()


async def test_one_that_takes_no_more_is_passed_over_for_one_that_does() -> None:
    field = Field("a", "b", a=BackendOptions(concurrency=1, queue=0, weight=100))
    async with slot(await field.route()):
        assert {caller(await field.route()) for _ in range(5)} == {"b"}


async def test_a_fallback_model_answers_if_all_other_models_fail() -> None:
    field = Field("a", "b:x", fallback={"m": ["x"]})
    assert {await field.answer() for _ in range(5)} == {"a"}

    route = await field.route()
    assert route.fail_over(Failure(500), ERROR)
    assert (caller(route), route.target.name, route.target.model) == ("b", "x", "x")


async def test_a_healthy_fallback_goes_before_an_ejected_backend_but_for_its_probe() -> None:
    field = Field("a", "b:x", fallback={"m": ["x"]})
    field.eject("a")
    assert {await field.answer() for _ in range(5)} == {"b"}

    field.clock.now += PROBE_AFTER
    assert await field.answer() == "a"


async def test_an_alias_uses_the_backends_name_and_a_star_matches_unnamed_models() -> None:
    field = Field(
        "a", "b", a=BackendOptions(aliases={"big": "m"}), b=BackendOptions(frozenset({"*"}))
    )
    (big,) = await field.models.candidates("big")
    (odd,) = await field.models.candidates("odd")

    assert (big.state.name, big.model, big.name) == ("a", "m", "big")
    assert (odd.state.name, odd.model) == ("b", "odd")


async def test_chains_are_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.upstream.router.MOST_CHAINS", 10)
    field = Field("a", "b")
    for number in range(100):
        await field.answer(f"resp_{number}")

    warm = [number for number in range(100) if field.router.warm_for([f"resp_{number}"])]
    assert warm == list(range(90, 100))


async def test_the_least_recently_used_chain_is_forgotten_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.upstream.router.MOST_CHAINS", 2)
    field = Field("a", "b")
    for chain in ("first", "second", "first", "third"):
        await field.answer(chain)

    assert [bool(field.router.warm_for([chain])) for chain in ("first", "second", "third")] == [
        True,
        False,
        True,
    ]


async def test_a_backend_is_selected_again_at_the_moment_of_the_call() -> None:
    field = Field("a", "b", a=BackendOptions(concurrency=1))
    route = await field.route()
    assert caller(route) == "a"
    assert field.server["a"].slots.take("another")
    route.reselect()

    assert caller(route) == "b"


async def test_a_late_choice_of_the_only_backend_is_that_one_unless_it_takes_no_more() -> None:
    field = Field("a", a=BackendOptions(concurrency=1, queue=0))
    route = await field.router.route("m", is_late=True)
    route.reselect()
    assert caller(route) == "a"
    async with slot(await field.route()):
        with pytest.raises(BackendError):
            route.reselect()


async def test_a_backend_that_was_away_does_not_make_up_for_it() -> None:
    field = Field("a", "b")
    field.eject("b")
    assert [await field.answer() for _ in range(20)] == ["a"] * 20
    field.server["b"].health.succeeded()

    answered = [await field.answer() for _ in range(10)]
    assert (answered.count("a"), answered.count("b")) == (5, 5)


async def test_the_duration_of_an_answer_sets_the_wait_of_the_next_request() -> None:
    field = Field("a", a=BackendOptions(concurrency=1))
    async with slot(await field.route()):
        field.clock.now += 10

    assert field.server["a"].slots.expected_wait == pytest.approx(
        1.0
    )  # a tenth of it, after answers without a time


async def test_a_retry_earns_no_retries() -> None:
    field = Field("a", "b")
    route = await field.route(tenant="t")
    await route.acquire()
    assert route.fail_over(Failure(500), ERROR)
    route.release()
    left = field.router.budgets["t"].left
    async with slot(route):
        assert field.router.budgets["t"].left == left


async def test_a_request_is_neither_patient_nor_late_by_default() -> None:
    field = Field("a", a=BackendOptions(concurrency=1, queue=0))
    async with slot(await field.route()):
        with pytest.raises(BackendError):
            await field.router.route("m")


async def test_a_model_with_one_backend_has_no_choice_to_remember() -> None:
    field = Field("a", "b:x")
    await field.answer("resp_1")

    assert field.router.warm_for(["resp_1"]) == ""


async def test_what_is_known_of_a_backend_outlives_new_settings() -> None:
    field = Field("a", "b")
    field.eject("a")
    again = [Listed("a", ["m"]), Listed("c", ["m"])]
    field.models.assign(again, options={"a": BackendOptions(weight=2, concurrency=3)})
    await field.models.refresh()
    known = {backend.name: backend for backend in field.models.backends}

    assert known["a"] is field.server["a"]
    assert (known["a"].health.failures, known["a"].slots.capacity) == (MOST_FAILURES, 3)
    assert {await field.answer() for _ in range(5)} == {"c"}


async def test_a_response_that_can_wait_uses_idle_slots_until_it_is_due() -> None:
    field = Field("a", a=BackendOptions(concurrency=1))
    candidates = Candidates.of([field.server["a"].target("m", "m")])
    late = [
        Route(field.router, candidates, (), "t", is_patient=True, is_late=False, defers_for=seconds)
        for seconds in (60, 600)
    ]
    order: list[str] = []

    async def use(name: str, route: Route) -> None:
        async with slot(route):
            order.append(name)

    async with slot(await field.route()):
        field.clock.now += 100  # the first of the two is due
        requested = [
            ("later", late[1]),
            ("due", late[0]),
            ("now", await field.route(is_patient=True)),
        ]
        waiting = [asyncio.create_task(use(*one)) for one in requested]
        await _settle()
    await asyncio.gather(*waiting)
    assert order == ["due", "now", "later"]
    assert field.server["a"].slots.in_use == 0
