"""Sums of responses by minute and hour: each response is summed once, and figures outlive its
facts.
"""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.operations import facts, figures, wrong_clock
from antiphon.storage.operations import figures as stored_figures
from antiphon.storage.records.facts import LATE, SUMMED, Facts
from antiphon.storage.records.figures import (
    BOUNDS,
    LONGEST,
    Figures,
    FiguresQuery,
    bucket_of,
    quantile,
    total_of,
)
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.facts import new_facts
from tests.support.chance import examples
from tests.support.stores import opened

START = 1_790_000_000
"""Seconds since the epoch; the beginning of no minute."""


class Clock:
    def __init__(self) -> None:
        self.now = float(START)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(store_url: str, clock: Clock) -> AsyncIterator[Store]:
    async with opened(store_url, now=clock) as one:
        yield one


def ended(tenant: str, at: float, took: int = 40, **fields: object) -> Facts:
    """Facts of a response that began so many seconds after the start."""
    began = int((START + at) * 1000)
    return new_facts(
        tenant=tenant, began=began, ended=began + took, model="m", input_tokens=3, **fields
    )


async def total(store: Store, tenant: str | None) -> Figures:
    found = await store.read(
        stored_figures.figures, tenant, FiguresQuery(START - 3600, START + 90_000, 60)
    )
    return total_of(list(found.spans.values()))


async def sum_all(store: Store) -> None:
    while await store.write(stored_figures.sum_up):
        pass


async def test_figures_outlive_the_facts_behind_them(store: Store, clock: Clock) -> None:
    tenant = new_id("tenant")
    await store.write(facts.put_new, [ended(tenant, at, cost=2) for at in (0, 1, 61, 62)])
    await sum_all(store)
    clock.now += 30
    await sum_all(store)  # too early
    before = await total(store, tenant)
    clock.now += 3 * figures.BEHIND
    await sum_all(store)
    assert await total(store, tenant) == before
    assert (before.responses, before.input_tokens, before.cost) == (4, 12, 8)
    assert (await purge(store, retention=60))["facts"] == 4
    assert await total(store, tenant) == before


async def test_the_speed_of_the_output_counts_streamed_responses_before_and_after_they_are_summed(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    streamed = [
        ended(tenant, at, took=took, first=first, output_tokens=tokens)
        for at, took, first, tokens in ((0, 1_500, 500, 90), (70, 3_000, 0, 30))
    ]
    whole = ended(tenant, 2, took=9_000, output_tokens=500)
    with_tools = ended(tenant, 3, took=9_000, first=10, output_tokens=20, calls=2)
    await store.write(facts.put_new, [*streamed, whole, with_tools])
    before = await total(store, tenant)
    clock.now += 3 * figures.BEHIND
    await sum_all(store)
    late = ended(tenant, 1, took=LATE, first=LATE - 200, output_tokens=4, flags=SUMMED)
    await store.write(facts.put_new, [late])
    after = await total(store, tenant)

    assert (before.streamed_tokens, before.streamed_ms) == (120, 4_000)
    assert (after.streamed_tokens, after.streamed_ms) == (124, 4_200)


async def test_a_response_that_ends_after_its_minute_was_summed_counts_once(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    running = new_facts(tenant=tenant, began=START * 1000, status="in_progress")
    await store.write(facts.put_new, [running, ended(tenant, 1)])
    clock.now += 3 * figures.BEHIND
    await sum_all(store)
    assert (await total(store, tenant)).responses == 1
    await store.write(facts.put_new, [ended(tenant, 0, took=LATE, flags=SUMMED)])
    await sum_all(store)
    assert (await total(store, tenant)).responses == 2


async def test_facts_that_waited_for_the_store_are_summed_when_they_come(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    clock.now += 3 * figures.BEHIND
    await sum_all(store)
    await store.write(facts.put_new, [ended(tenant, 0)])
    assert (await total(store, tenant)).responses == 1


@pytest.mark.parametrize("off", [30 * 86_400, -30 * 86_400], ids=["ahead", "behind"])
async def test_a_clock_that_was_off_loses_and_doubles_no_response(
    store: Store, clock: Clock, off: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrong_clock, "AT_ONCE", 2)
    tenant = new_id("tenant")
    count = 0

    async def counted() -> int:
        found = await store.read(
            stored_figures.figures,
            tenant,
            FiguresQuery(START - 40 * 86_400, START + 40 * 86_400, 86_400),
        )
        return total_of(list(found.spans.values())).responses

    for jump in (0, off, -off, 35 * 86_400):
        clock.now += jump
        for _ in range(5):
            await store.write(facts.put_new, [ended(tenant, clock.now - START)])
            count += 1
            clock.now += 1
        await sum_all(store)
        assert await counted() == count
        await store.write(facts.put_new, [ended(tenant, clock.now - START)])
        count += 1
        clock.now += 3 * figures.BEHIND
        await sum_all(store)
        assert await counted() == count


async def test_many_responses_are_summed_a_part_at_a_time(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "AT_ONCE", 3)
    tenant = new_id("tenant")
    await store.write(facts.put_new, [ended(tenant, at) for at in range(10)])
    clock.now += 3 * figures.BEHIND
    assert await store.write(stored_figures.sum_up)
    assert (await total(store, tenant)).responses == 10
    await sum_all(store)
    assert (await total(store, tenant)).responses == 10


async def test_sums_of_minutes_last_a_week_and_those_of_hours_longer(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    await store.write(facts.put_new, [ended(tenant, 0)])
    clock.now += 8 * 86_400
    await sum_all(store)
    assert {name: count for name, count in (await purge(store, retention=1)).items() if count} == {
        "facts": 1,
        "minutes": 2,
    }
    long = await store.read(
        stored_figures.figures, tenant, FiguresQuery(START - 86_400, START + 86_400, 3600)
    )
    assert [one.responses for one in long.spans.values()] == [1]


async def test_figures_of_a_month_are_the_same_from_sums_of_hours_and_of_four_hours(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    chance = random.Random(1)
    await store.write(
        facts.put_new,
        [ended(tenant, at, took=at % 900) for at in chance.sample(range(20 * 86_400), 60)],
    )
    clock.now += 20 * 86_400 + 7_000
    await sum_all(store)
    for since, until in (
        (START - 1, START + 20 * 86_400),
        (START + 40_000, START + 19 * 86_400 + 1),
    ):
        by_hour, by_four = [
            await store.read(
                stored_figures.figures, tenant, FiguresQuery(since, until, step, "model")
            )
            for step in (7_200, 28_800)
        ]
        joined: dict[int, list[Figures]] = {}
        for time, one in by_hour.spans.items():
            joined.setdefault(time // 28_800 * 28_800, []).append(one)
        assert by_four.spans == {time: total_of(parts) for time, parts in joined.items()}
        assert by_four.groups == by_hour.groups


async def test_sums_of_all_lengths_are_removed_when_they_are_old(
    store: Store, clock: Clock
) -> None:
    tenant = new_id("tenant")
    await store.write(facts.put_new, [ended(tenant, 0)])
    clock.now += 401 * 86_400
    await sum_all(store)
    await purge(store, retention=1)
    for span, step in ((86_400, 3_600), (864_000, 14_400)):
        found = await store.read(
            stored_figures.figures, tenant, FiguresQuery(START - span, START + span, step)
        )
        assert not found.spans


async def test_an_index_leads_to_what_is_not_summed(tmp_path: Path, clock: Clock) -> None:
    url = tmp_path / "a.db"
    await SqliteStore.open(f"sqlite://{url}", now=clock).close()
    with sqlite3.connect(url) as connection:
        for text in figures.ADD_SPAN:
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN {text.replace('$', '?')}", (1, 2)
            ).fetchall()
            assert any("facts_by_start" in row[3] for row in plan), plan


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, LONGEST - 1), min_size=1, max_size=30), st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_of_the_value_that_it_stands_for(
    values: list[int], share: float
) -> None:
    counts = [0] * (len(BOUNDS) + 1)
    for value in values:
        counts[bucket_of(value)] += 1
    rank = max(1, -(-share * len(values) // 1))
    place = bucket_of(sorted(values)[int(rank) - 1])
    low = (0, *BOUNDS)[place]
    high = (*BOUNDS, LONGEST)[place]
    found = quantile(counts, share)
    assert found is not None and low <= found <= high


def test_a_histogram_without_values_has_no_quantile() -> None:
    assert quantile([0] * 24, 0.5) is None


@pytest.mark.wide("postgres")
async def test_late_responses_that_come_in_any_order_from_several_servers_are_counted_once(
    store: Store, store_url: str
) -> None:
    tenant = new_id("tenant")
    others = [await open_store(store_url) for _ in range(3)]
    late = [
        [
            replace(ended(tenant, 0), flags=SUMMED, model=f"m{place % 7}", backend=f"b{place % 5}")
            for place in range(40)
        ]
        for _ in range(8)
    ]
    for number, batch in enumerate(late):
        random.Random(number).shuffle(batch)
    servers = [store, *others] * 2
    await asyncio.gather(
        *[server.write(facts.put_new, batch) for server, batch in zip(servers, late, strict=True)]
    )
    found = await store.read(
        stored_figures.figures, tenant, FiguresQuery(START - 3600, START + 3600, 60)
    )
    assert total_of(list(found.spans.values())).responses == 8 * 40
    for other in others:
        await other.close()
