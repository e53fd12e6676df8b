"""What is reserved for a key, where the client does not wait for it; and what its slot costs."""

import asyncio
import time
from typing import Any

import pytest
from bench import keys
from bench.figures import SLOT_CALLS

from antiphon.access.metering import DAY, Meter
from antiphon.access.spending import SpentTokens, Tariff, Weight
from antiphon.errors import ClientError, StoreError
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import Budget, MoneyClaim
from antiphon.storage.records.tenants import ApiKey, BucketState, KeyLimits, UsageRecord
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.prices import Prices
from antiphon.upstream.registry import ModelRegistry
from tests.support.changed_stores import ChangedStore
from tests.support.keys import issued
from tests.support.waiting import let_others_run


class Slow(ChangedStore):
    """A store in memory that says what it took only once it may."""

    taken: asyncio.Event
    go: asyncio.Event

    async def take(self, *requested: Any) -> BucketState:
        level: BucketState = await self.original.take(*requested)
        self.taken.set()
        await self.go.wait()
        return level


async def test_a_reservation_is_released_if_the_client_disconnects_meanwhile() -> None:
    store = Slow.open("sqlite://")
    store.taken, store.go = asyncio.Event(), asyncio.Event()
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)

    leaving = asyncio.create_task(meter.admit(key, "m", Weight(100)))
    await store.taken.wait()
    leaving.cancel()
    await asyncio.wait({leaving})
    store.go.set()
    while not (await store.write(api_keys.take, key.id, key.limits, 100)).is_granted:
        await meter.settle()

    assert leaving.cancelled()
    assert [row.requests for row in await store.read(api_keys.usage, key.tenant, 0, 2**40)] == [0]
    await store.close()


@pytest.mark.parametrize(
    "result",
    [StoreError("The disk is full."), BucketState(False, 0.0, 0.0, 0)],
    ids=["the store fails", "nothing was left"],
)
async def test_a_missing_reservation_is_not_released_if_the_client_disconnects(
    result: StoreError | BucketState, caplog: pytest.LogCaptureFixture
) -> None:
    class Refuses(Slow):
        async def take(self, *requested: Any) -> BucketState:
            await super().take(*requested)
            if isinstance(result, StoreError):
                raise result
            return result

    store = Refuses.open("sqlite://")
    store.taken, store.go = asyncio.Event(), asyncio.Event()
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)

    leaving = asyncio.create_task(meter.admit(key, "m", Weight(100)))
    await store.taken.wait()
    leaving.cancel()
    await asyncio.wait({leaving})
    store.go.set()
    await let_others_run(20)
    await meter.settle()

    assert list(await store.read(api_keys.usage, key.tenant, 0, 2**40)) == []
    assert caplog.messages == []
    await store.close()


async def test_a_request_without_a_key_is_not_metered() -> None:
    meter = Meter(SqliteStore.open("sqlite://"), time.time)

    with await meter.admit(None, "m", Weight(100)) as lease:
        assert (lease.headers, meter.in_progress) == ({}, 0)


async def test_a_key_without_a_limit_of_tokens_reserves_none() -> None:
    """What it reserved would count where its limits are changed while the request runs."""
    store = SqliteStore.open("sqlite://")
    _, key = await issued(store, requests_per_minute=10)
    meter = Meter(store, time.time)

    with await meter.admit(key, "m", Weight(100)):
        changed = await store.write(api_keys.take, key.id, KeyLimits(tokens_per_day=100), 0)

    assert changed.tokens_today == 0
    await store.close()


async def test_a_request_without_a_weight_reserves_no_tokens() -> None:
    store = SqliteStore.open("sqlite://")
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)

    with await meter.admit(key, "m", Weight()):
        level = await store.write(api_keys.take, key.id, key.limits, 0)

    assert level.tokens_today == 0
    await store.close()


@pytest.mark.wide
def test_a_slot_costs_a_request_few_calls() -> None:
    _, calls = keys.slot()

    assert calls <= SLOT_CALLS


MIDNIGHT = 86_400 * 20_000


async def test_a_reservation_before_midnight_is_not_credited_to_the_new_day() -> None:
    now = MIDNIGHT - 10.0
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, lambda: now)

    with await meter.admit(key, "m", Weight(80)) as across:
        now = MIDNIGHT + 10.0
        with await meter.admit(key, "m", Weight(50)) as within:
            across.report(SpentTokens(20, 10))
            within.report(SpentTokens(30, 20))
    await meter.settle()

    # Of the new day's hundred, the request that began in it used 50, and the one that ended in it
    # 30.
    assert not (await store.write(api_keys.take, key.id, key.limits, 21)).is_granted
    assert (await store.write(api_keys.take, key.id, key.limits, 20)).is_granted
    (day,) = await store.read(api_keys.usage, key.tenant, 0, MIDNIGHT * 2)
    assert (day.day, day.requests, day.input_tokens, day.output_tokens) == (MIDNIGHT, 2, 50, 30)
    await store.close()


async def test_a_reservation_on_the_same_day_is_credited_to_it() -> None:
    now = MIDNIGHT - 10.0
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, lambda: now)

    with await meter.admit(key, "m", Weight(80)) as lease:
        now = MIDNIGHT - 1.0
        lease.report(SpentTokens(20, 10))
    await meter.settle()

    assert not (await store.write(api_keys.take, key.id, key.limits, 71)).is_granted
    assert (await store.write(api_keys.take, key.id, key.limits, 70)).is_granted
    await store.close()


async def test_requests_that_are_written_down_together_give_back_what_each_reserved() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: MIDNIGHT)
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, lambda: MIDNIGHT)

    with (
        await meter.admit(key, "m", Weight(40)),
        await meter.admit(key, "m", Weight(60)),
    ):
        assert not (await store.write(api_keys.take, key.id, key.limits, 1)).is_granted
    await meter.settle()

    assert (await store.write(api_keys.take, key.id, key.limits, 100)).is_granted
    (day,) = await store.read(api_keys.usage, key.tenant, 0, MIDNIGHT * 2)
    assert (day.requests, day.input_tokens, day.output_tokens) == (2, 0, 0)
    await store.close()


JUNE = 1_780_272_000
"""The first second of June 2026."""


async def test_a_reservation_in_a_month_is_not_credited_to_the_next() -> None:
    now = JUNE - 10.0
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, budget=Budget(per_month=100))
    meter = Meter(store, lambda: now, tariff=tariff())

    with await meter.admit(key, "m", Weight(0, 80)) as across:
        now = JUNE + 10.0
        with await meter.admit(key, "m", Weight(0, 50)) as within:
            across.report(SpentTokens(0, 30, cost=30))
            within.report(SpentTokens(0, 50, cost=50))
    await meter.settle()

    def claim(cost: int) -> MoneyClaim:
        return MoneyClaim(key.tenant, key.id, cost, key.limits.budget, None)

    assert not (await store.write(api_keys.take, key.id, key.limits, 0, claim(21))).is_granted
    assert (await store.write(api_keys.take, key.id, key.limits, 0, claim(20))).is_granted
    await store.close()


NOON = JUNE + 10 * 86_400 + 43_200
"""In the middle of a month, and of a day."""


async def room(store: SqliteStore, key: ApiKey, now: float) -> int:
    """What the key may still spend, found by asking."""
    for cost in range(100, -1, -1):
        claim = MoneyClaim(key.tenant, key.id, cost, key.limits.budget, None)
        if not (state := await store.write(api_keys.take, key.id, key.limits, 0, claim)).is_granted:
            continue
        assert state.exhausted is None
        await store.write(
            api_keys.charge,
            [UsageRecord(key.tenant, key.id, int(now), 0, 0, 0, is_budgeted=True, cost_taken=cost)],
        )
        return cost
    return -1


async def test_what_a_process_reserved_that_was_killed_is_free_the_next_day() -> None:
    now = float(NOON)
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, budget=Budget(per_month=100))
    meter = Meter(store, lambda: now, tariff=tariff())
    with await meter.admit(key, "m", Weight(0, 50)) as lease:
        lease.report(SpentTokens(0, 20, cost=20))
    await meter.settle()
    await meter.admit(key, "m", Weight(0, 70))

    today = await room(store, key, now)
    now += DAY
    assert (today, await room(store, key, now)) == (10, 80)
    await store.close()


async def test_a_month_has_the_cost_of_a_request_that_ended_another_day_once() -> None:
    now = float(NOON)
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, budget=Budget(per_month=100))
    meter = Meter(store, lambda: now, tariff=tariff())
    with await meter.admit(key, "m", Weight(0, 90)) as across:
        now += DAY
        across.report(SpentTokens(0, 30, cost=30))
    await meter.settle()

    assert await room(store, key, now) == 70
    now += DAY
    assert await room(store, key, now) == 70
    await store.close()


async def test_a_month_has_the_cost_that_is_written_down_after_midnight() -> None:
    now = float(NOON)
    store = SqliteStore.open("sqlite://", now=lambda: now)
    _, key = await issued(store, budget=Budget(per_month=100))
    late = UsageRecord(
        key.tenant, key.id, NOON, 1, 0, 30, 0, "m", 0, 30, is_budgeted=True, cost_taken=90
    )
    await store.write(
        api_keys.take,
        key.id,
        key.limits,
        0,
        MoneyClaim(key.tenant, key.id, 90, key.limits.budget, None),
    )
    now += DAY
    assert await room(store, key, now) == 100
    await store.write(api_keys.charge, [late])

    assert await room(store, key, now) == 70
    now += DAY
    assert await room(store, key, now) == 70
    await store.close()


async def test_a_budget_is_refunded_if_the_client_disconnects_before_it_is_charged() -> None:
    store = Slow.open("sqlite://")
    store.taken, store.go = asyncio.Event(), asyncio.Event()
    _, key = await issued(store, budget=Budget(per_day=100))
    meter = Meter(store, time.time, tariff=tariff())
    claim = MoneyClaim(key.tenant, key.id, 100, key.limits.budget, None)

    leaving = asyncio.create_task(meter.admit(key, "m", Weight(100)))
    await store.taken.wait()
    leaving.cancel()
    await asyncio.wait({leaving})
    store.go.set()
    while not (await store.write(api_keys.take, key.id, key.limits, 0, claim)).is_granted:
        await meter.settle()

    await store.close()


async def test_requests_at_once_fit_a_budget_by_what_is_reserved_for_their_answers() -> None:
    store = SqliteStore.open("sqlite://")
    _, key = await issued(store, budget=Budget(per_day=10_000))
    small, large = (
        Meter(store, time.time, tariff=tariff(reserved_output=tokens)) for tokens in (1_000, 6_000)
    )

    with await large.admit(key, "m", Weight(10, 0, 1)) as first:
        assert first.taken.cost == 6_010
        with pytest.raises(ClientError, match="current quota"):
            await large.admit(key, "m", Weight(10, 0, 1))
        with await small.admit(key, "m", Weight(10, 0, 2)) as second:
            assert second.taken.cost == 2_010
    await small.settle()
    await large.settle()
    await store.close()


async def test_without_a_backend_a_background_response_reserves_what_is_usual() -> None:
    store = SqliteStore.open("sqlite://")
    _, key = await issued(store, tokens_per_day=10_000)
    meter = Meter(store, time.time, tariff=tariff(reserved_output=2_000))

    with await meter.admit(key, "unknown", Weight(10, 0, 1), is_queued=True) as lease:
        assert lease.taken.tokens == 2_010
    await meter.settle()
    await store.close()


async def test_a_key_without_a_budget_needs_no_price() -> None:
    store = SqliteStore.open("sqlite://")
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time, tariff=None)

    with await meter.admit(key, "m", Weight(100)) as lease:
        assert lease.taken.cost is None
    await meter.settle()
    await store.close()


def tariff(reserved_output: int = 1_000) -> Tariff:
    """Prices by which a token costs a nano-unit."""
    options = BackendOptions(
        models=frozenset({"m"}), configured=(ModelOptions("m", prices=Prices(*[1_000_000] * 3)),)
    )
    return Tariff(
        ModelRegistry([DemoBackend()], time.time, options={"demo": options}),
        reserved_output=reserved_output,
    )


class Broken(ChangedStore):
    async def charge_once(self, *requested: Any) -> None:
        raise StoreError("The disk is full.")


async def test_usage_that_the_store_does_not_accept_is_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.access.metering.LAST_TRY", 0.01)
    store = Broken.open("sqlite://")
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)

    with await meter.admit(key, "m", Weight(10)):
        pass
    await meter.close()

    failed, lost = caplog.messages
    assert {task for task in asyncio.all_tasks() if not task.done() and not task.cancelling()} == {
        asyncio.current_task()
    }
    assert failed.endswith("; retrying: The disk is full.")
    assert " is lost: " in lost and lost.endswith(" within 0.01 s.")
    await store.close()


async def test_usage_that_the_store_did_not_accept_at_first_is_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Recovers(ChangedStore):
        remaining = 2

        async def charge_once(self, *requested: Any) -> None:
            self.remaining -= 1
            if self.remaining >= 0:
                raise StoreError("The disk is full.")
            await self.original.charge_once(*requested)

    monkeypatch.setattr("antiphon.access.metering.TRY_AGAIN", 0.0)
    store = Recovers.open("sqlite://")
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)
    with await meter.admit(key, "m", Weight(10)) as lease:
        lease.report(SpentTokens(20, 10))
    await meter.close()

    (row,) = await store.read(api_keys.usage, key.tenant, 0, 2**40)
    assert (row.requests, row.input_tokens, row.output_tokens) == (1, 20, 10)
    await store.close()


async def test_usage_is_counted_once_although_the_store_did_not_acknowledge_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class LosesAnswers(ChangedStore):
        answers = iter((False, False, True))

        async def charge_once(self, *requested: Any) -> None:
            await self.original.charge_once(*requested)
            if not next(self.answers, True):
                raise StoreError("The connection was lost.")

    monkeypatch.setattr("antiphon.access.metering.TRY_AGAIN", 0.0)
    store = LosesAnswers.open("sqlite://")
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)
    for _ in range(2):
        with await meter.admit(key, "m", Weight(10)) as lease:
            lease.report(SpentTokens(20, 10))
        await meter.settle()
    await meter.close()

    (row,) = await store.read(api_keys.usage, key.tenant, 0, 2**40)
    assert (row.requests, row.input_tokens, row.output_tokens) == (2, 40, 20)
    level = await store.write(api_keys.take, key.id, key.limits, 0)
    assert level.tokens_today == 60
    await store.close()
