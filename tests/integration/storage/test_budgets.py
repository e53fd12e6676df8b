"""What a budget counts when it begins, and when it begins again, beyond what `check_store` holds of
every store.
"""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from antiphon.storage.operations import api_keys, budgets
from antiphon.storage.records.money import Budget, MoneyClaim, TenantBudget
from antiphon.storage.records.tenants import ApiKey, KeyLimits, UsageRecord
from antiphon.storage.store import Store
from tests.store.making import new_key
from tests.support.stores import opened

BUDGET = Budget(per_day=100)
MONTHLY = Budget(per_month=100)
DAY = 86_400
NOON = 1_700_049_600
"""On 15 November 2023."""


class Clock:
    now = NOON

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(store_url: str, clock: Clock) -> AsyncIterator[Store]:
    async with opened(store_url, now=clock) as one:
        yield one


async def stored(store: Store, tenant: str, budget: Budget | None = None) -> ApiKey:
    key = new_key(tenant, limits=KeyLimits(budget=budget))
    await store.write(api_keys.put, key)
    return key


async def spend(store: Store, key: ApiKey, cost: int, at: int = NOON) -> None:
    """Record a request that no budget applied to."""
    await store.write(
        api_keys.charge, [UsageRecord(key.tenant, key.id, at, 1, 1, 1, 0, "m", 0, cost)]
    )


async def settle(store: Store, key: ApiKey, cost: int, taken: int, at: int = NOON) -> None:
    """Record a request for which so much was reserved at a time."""
    await store.write(
        api_keys.charge,
        [UsageRecord(key.tenant, key.id, at, 1, 1, 1, 0, "m", 0, cost, True, taken)],
    )


async def has_room(
    store: Store, key: ApiKey, cost: int, own: Budget | None, shared: Budget | None = None
) -> bool:
    """Whether so much can be taken; it is taken then."""
    claim = MoneyClaim(key.tenant, key.id, cost, own, shared)
    return (await store.write(api_keys.take, key.id, KeyLimits(), 0, claim)).is_granted


async def test_the_budget_of_a_tenant_counts_what_all_its_keys_spent_and_nothing_of_others(
    store: Store,
) -> None:
    first, second, stranger = [await stored(store, tenant) for tenant in ("acme", "acme", "other")]
    for key, cost in ((first, 30), (second, 30), (stranger, 90)):
        await spend(store, key, cost)

    assert not await has_room(store, first, 41, None, BUDGET)
    assert await has_room(store, second, 40, None, BUDGET)
    assert await has_room(store, stranger, 10, None, BUDGET)


async def test_the_budget_of_a_key_counts_what_it_spent_and_nothing_of_the_tenants_other_keys(
    store: Store,
) -> None:
    first, second = [await stored(store, "acme") for _ in range(2)]
    await spend(store, first, 30)
    await spend(store, second, 90)

    assert not await has_room(store, first, 71, BUDGET)
    assert await has_room(store, first, 70, BUDGET)


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_budget_counts_its_own_day_and_month(store: Store, is_shared: bool) -> None:
    key = await stored(store, "acme")
    for days, cost in ((0, 10), (1, 20), (14, 30), (15, 90)):  # 15 days ago it was October
        await spend(store, key, cost, NOON - days * DAY)

    async def is_left(budget: Budget, cost: int) -> bool:
        return await has_room(store, key, cost, *((None, budget) if is_shared else (budget, None)))

    assert not await is_left(Budget(100, 1000), 91)
    assert not await is_left(Budget(1000, 100), 41)
    assert await is_left(Budget(100, 100), 40)
    assert not await is_left(Budget(1000, 100), 1)


async def test_a_key_that_was_idle_for_long_has_the_requests_of_one_minute_and_no_more(
    store: Store, clock: Clock
) -> None:
    limits = KeyLimits(requests_per_minute=2, tokens_per_minute=2)
    key = new_key(limits=limits)
    await store.write(api_keys.put, key)
    for _ in range(2):
        assert [
            (await store.write(api_keys.take, key.id, limits, 1)).is_granted for _ in range(3)
        ] == [
            True,
            True,
            False,
        ]
        clock.now += 3600


async def test_a_new_day_begins_with_what_was_spent_and_without_what_was_reserved(
    store: Store, clock: Clock
) -> None:
    key = await stored(store, "acme", BUDGET)
    both = Budget(100, 150)
    assert await has_room(store, key, 50, both, both)
    assert await has_room(store, key, 40, both, both)
    await settle(store, key, 30, 50)
    clock.now += DAY

    assert not await has_room(store, key, 101, Budget(None, 130), None)
    assert await has_room(store, key, 100, both, both)
    assert not await has_room(store, key, 1, both, None)


async def test_what_ends_on_a_later_day_is_spent_in_the_month_and_frees_nothing_of_that_day(
    store: Store, clock: Clock
) -> None:
    key = await stored(store, "acme", BUDGET)
    both = Budget(100, 200)
    assert await has_room(store, key, 90, both)
    clock.now += DAY
    assert await has_room(store, key, 60, both)
    await settle(store, key, 80, 90)

    assert not await has_room(store, key, 41, both)
    assert await has_room(store, key, 40, both)
    assert not await has_room(store, key, 21, Budget(1000, 200))
    assert await has_room(store, key, 20, Budget(1000, 200))


async def test_what_is_settled_of_an_earlier_day_is_counted_once_when_the_next_begins(
    store: Store, clock: Clock
) -> None:
    key = await stored(store, "acme", BUDGET)
    both = Budget(100, 150)
    assert await has_room(store, key, 90, both)
    clock.now += DAY
    await settle(store, key, 80, 90, clock.now)

    assert not await has_room(store, key, 21, both)
    assert await has_room(store, key, 20, both)
    assert await has_room(store, key, 50, Budget(1000, 150))


async def test_a_key_without_a_budget_that_has_one_again_counts_what_it_spent_meanwhile(
    store: Store,
) -> None:
    key = await stored(store, "acme", BUDGET)
    assert await has_room(store, key, 10, BUDGET)
    await store.write(api_keys.put, replace(key, limits=KeyLimits()))
    await spend(store, key, 60)
    await store.write(api_keys.put, key)

    assert not await has_room(store, key, 41, BUDGET)
    assert await has_room(store, key, 40, BUDGET)


async def test_a_key_that_is_changed_and_keeps_its_budget_keeps_what_is_reserved(
    store: Store,
) -> None:
    key = await stored(store, "acme", BUDGET)
    assert await has_room(store, key, 60, BUDGET)
    await store.write(api_keys.put, replace(key, name="another"))

    assert not await has_room(store, key, 41, BUDGET)


async def test_only_an_expired_budget_restarts(store: Store) -> None:
    ended, other, stranger = [
        await stored(store, tenant, BUDGET) for tenant in ("acme", "acme", "other")
    ]
    for key in (ended, other, stranger):
        assert await has_room(store, key, 60, BUDGET)
    await store.write(api_keys.put, replace(ended, limits=KeyLimits()))

    assert await has_room(store, ended, 100, BUDGET)
    assert not await has_room(store, other, 41, BUDGET)
    assert not await has_room(store, stranger, 41, BUDGET)


async def test_a_tenant_without_a_budget_that_has_one_again_counts_what_it_spent_meanwhile(
    store: Store,
) -> None:
    key = await stored(store, "acme")
    stranger = await stored(store, "other")
    for one in (key, stranger):
        await store.write(budgets.put_tenant, TenantBudget(one.tenant, BUDGET))
        assert await has_room(store, one, 10, None, BUDGET)
    await store.write(budgets.put_tenant, TenantBudget("acme", Budget()))
    await spend(store, key, 60)
    await store.write(budgets.put_tenant, TenantBudget("acme", BUDGET))

    assert not await has_room(store, key, 41, None, BUDGET)
    assert await has_room(store, key, 40, None, BUDGET)
    assert not await has_room(store, stranger, 91, None, BUDGET)
    assert [one.tenant for one in await store.read(budgets.of_tenants)] == ["acme", "other"]
