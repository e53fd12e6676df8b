"""Promises about budgets of money, and about usage by model."""

import asyncio
import time
from collections.abc import Sequence

from antiphon.ids import new_id
from antiphon.storage.operations import api_keys, budgets, jobs, responses
from antiphon.storage.records.jobs import Reservation
from antiphon.storage.records.money import Budget, ExhaustedBudget, MoneyClaim, TenantBudget, day_of
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import ApiKey, KeyLimits, UsageField, UsageRecord
from antiphon.storage.store import Store
from tests.store.making import hold, new_key

DAY = 86_400


def _claim(
    key: ApiKey, cost: int, own: Budget | None = None, shared: Budget | None = None
) -> MoneyClaim:
    return MoneyClaim(key.tenant, key.id, cost, own, shared)


async def _stored(store: Store, tenant: str = "") -> ApiKey:
    key = new_key(tenant)
    await store.write(api_keys.put, key)
    return key


async def _spend(store: Store, key: ApiKey, claim: MoneyClaim, cost: int) -> None:
    """Count a request that reserved the claim, and had another cost."""
    now = int(time.time())
    back = claim.fit()
    await store.write(
        api_keys.charge,
        [UsageRecord(key.tenant, key.id, now, 1, 1, 1, 0, "m", 0, cost, True, back)],
    )


async def _come_with_keys(store: Store) -> None:
    """A tenant's budget is returned with each of its keys, until it is ended; budgets are listed by
    tenant.
    """
    tenant = new_id("tenant")
    budget = Budget(None, 2**40)
    first = await _stored(store, tenant)
    other = await _stored(store, tenant)
    stranger = await _stored(store)
    await store.write(budgets.put_tenant, TenantBudget(tenant, Budget(7, 8)))
    await store.write(budgets.put_tenant, TenantBudget(tenant, budget))
    found = [await store.read(api_keys.find, key.digest) for key in (first, other, stranger)]
    hold(
        [key.tenant_budget for key in found if key] == [budget, budget, None],
        f"the keys are returned with {found}",
    )
    every = await store.read(api_keys.every)
    listed = [
        [one.tenant_budget for one in every if one.id == key.id] for key in (first, other, stranger)
    ]
    hold(listed == [[budget], [budget], [None]], f"the keys are listed with {listed}")
    hold(
        TenantBudget(tenant, budget) in await store.read(budgets.of_tenants),
        "a budget is not listed",
    )
    await store.write(budgets.put_tenant, TenantBudget(tenant, Budget()))
    ended = await store.read(api_keys.find, first.digest)
    hold(ended is not None and ended.tenant_budget is None, f"a budget that was ended is {ended}")
    hold(
        tenant not in {one.tenant for one in await store.read(budgets.of_tenants)},
        "a budget that was ended is listed",
    )


async def _are_exact(store: Store) -> None:
    """Of many concurrent claims exactly as many are granted as the budgets of their keys and their
    tenant allow.
    """
    for own, shared in (
        (Budget(per_day=1000), None),
        (None, Budget(per_month=1000)),
        (Budget(700, 9000), Budget(400)),
    ):
        tenant = new_id("tenant")
        keys = [await _stored(store, tenant) for _ in range(2)]
        owner = keys if own is None else keys[:1]
        claims = [_claim(owner[i % len(owner)], 100, own, shared) for i in range(40)]
        states = await asyncio.gather(
            *(store.write(api_keys.take, claim.key_id, KeyLimits(), 0, claim) for claim in claims)
        )
        granted = sum(state.is_granted for state in states)
        expected = 10 if own is None or shared is None else 4
        hold(
            granted == expected,
            f"{granted} of 40 were granted with room for {expected} ({own}, {shared})",
        )


async def _are_named(store: Store) -> None:
    """A rejected claim says which budget has no room; a claim above a whole budget counts as all of
    it.
    """
    key = await _stored(store)
    own = Budget(per_day=50)
    shared = Budget(per_month=70)
    large = _claim(key, 1000, own, shared)
    hold(
        (await store.write(api_keys.take, key.id, KeyLimits(), 0, large)).is_granted,
        "a claim above a budget is never granted",
    )
    refused = await store.write(api_keys.take, key.id, KeyLimits(), 0, _claim(key, 10, own, shared))
    hold(
        refused.exhausted == ExhaustedBudget(False, "day", 50),
        f"the budget of the key is spent: {refused}",
    )
    refused = await store.write(
        api_keys.take, key.id, KeyLimits(), 0, _claim(key, 30, None, shared)
    )
    hold(
        refused.exhausted == ExhaustedBudget(True, "month", 70),
        f"the budget of the tenant is spent: {refused}",
    )


async def _take_nothing_in_part(store: Store) -> None:
    """A request that a budget or a limit rejects subtracts nothing from the other."""
    key = await _stored(store)
    budget = Budget(per_day=100)
    limits = KeyLimits(tokens_per_day=100)
    await store.write(api_keys.take, key.id, limits, 60, _claim(key, 60, budget))
    for tokens, cost in ((10, 60), (60, 10)):
        state = await store.write(api_keys.take, key.id, limits, tokens, _claim(key, cost, budget))
        hold(
            not state.is_granted,
            f"{tokens} tokens and a cost of {cost} were granted in addition to 60 of 100",
        )
    last = await store.write(api_keys.take, key.id, limits, 40, _claim(key, 40, budget))
    hold(last.is_granted and last.tokens_today == 100, f"a rejected claim was subtracted: {last}")


async def _are_settled(store: Store) -> None:
    """The unused part of a reservation is returned, in the day and in the month."""
    key = await _stored(store)
    own = Budget(per_day=1000)
    shared = Budget(per_month=1000)
    claim = _claim(key, 1000, own, shared)
    await store.write(api_keys.take, key.id, KeyLimits(), 0, claim)
    hold(
        not (
            await store.write(api_keys.take, key.id, KeyLimits(), 0, _claim(key, 500, own, shared))
        ).is_granted,
        "more was granted",
    )
    await _spend(store, key, claim, 300)
    for cost, is_granted in ((701, False), (700, True)):
        state = await store.write(
            api_keys.take, key.id, KeyLimits(), 0, _claim(key, cost, own, shared)
        )
        hold(
            state.is_granted is is_granted, f"a cost of {cost} in addition to 300 of 1000: {state}"
        )


async def _count_from_before(store: Store) -> None:
    """A budget that is set today counts the costs of today and of this month."""
    key = await _stored(store)
    today = day_of(time.time())
    await store.write(
        api_keys.charge, [UsageRecord(key.tenant, key.id, today, 1, 1, 1, 0, "m", 0, 90)]
    )
    for own, shared in ((Budget(per_day=100), None), (None, Budget(per_month=100))):
        state = await store.write(
            api_keys.take, key.id, KeyLimits(), 0, _claim(key, 20, own, shared)
        )
        hold(
            not state.is_granted,
            f"90 of 100 were spent before the budget was set, and 20 are granted: {state}",
        )


async def _is_summed_up(store: Store) -> None:
    """Usage is summed by tenant, key, model and day, or by none of them; for one tenant, or for
    all.
    """
    tenant = new_id("tenant")
    today = day_of(time.time())
    one = await _stored(store, tenant)
    other = await _stored(store, tenant)
    uses = [
        (one, today, "a", 3),
        (one, today - DAY, "a", 4),
        (one, today, "b", 5),
        (other, today, "a", 6),
    ]
    await store.write(
        api_keys.charge,
        [
            UsageRecord(tenant, key.id, at, 1, 2, 1, 0, model, 1, cost)
            for key, at, model, cost in uses
        ],
    )

    async def sums(by: Sequence[UsageField]) -> list[tuple[object, ...]]:
        rows = await store.read(api_keys.usage, tenant, today - DAY, today + DAY, by)
        return [
            (row.model, row.requests, row.input_tokens, row.cached_tokens, row.cost) for row in rows
        ]

    hold(await sums(()) == [(None, 4, 8, 4, 18)], f"in total they are {await sums(())}")
    by_model = await sums(("model",))
    hold(by_model == [("a", 3, 6, 3, 13), ("b", 1, 2, 1, 5)], f"by model they are {by_model}")
    hold(len(await sums(("key", "day", "model"))) == 4, "grouping by everything still sums")
    largest = await store.read(api_keys.usage, tenant, today - DAY, today + DAY, ["key"], 1)
    hold([row.key_id for row in largest] == [one.id], f"the larger of two keys is {largest}")
    all_tenants = await store.read(api_keys.usage, None, today - DAY, today + DAY, ["tenant"])
    hold(
        [row.cost for row in all_tenants if row.tenant == tenant] == [18],
        f"for all tenants they are {all_tenants}",
    )
    yesterday = await store.read(api_keys.usage, None, today - DAY, today, ["tenant"])
    costs = [row.cost for row in yesterday if row.tenant == tenant]
    hold(costs == [4], f"for all tenants, the day that ends a range is included: {yesterday}")


async def _jobs_report_what_is_reserved(store: Store) -> None:
    """A job contains what was reserved of budgets for it, and whether any applies."""
    for taken in (Reservation("key_1", 5, 2**50), Reservation("key_1", 5)):
        response = StoredResponse(
            new_id("resp"), 1000, "queued", None, b"{}", tenant=new_id("tenant")
        )
        await store.write(jobs.enqueue, response, b"", [], None, taken)
        job = await store.read(jobs.find_job, response.tenant, response.id)
        hold(job is not None and job.taken == taken, f"the job is {job}")
        await store.write(responses.delete, response.tenant, response.id)
