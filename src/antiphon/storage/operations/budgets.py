"""Budgets of keys and tenants: the spent and reserved amounts of the current day and month.

A request locks the rows of its budgets, so concurrent requests of one tenant, in any process, are
decided one after the other. An operation that locks budgets and the levels of limits locks the
budgets first, in the order of their ids.

Each day starts with the amounts that were recorded as spent, so reservations of a killed process
expire the next day.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from antiphon.storage.operations.step import Operation, query_many, query_rows, reads, writes
from antiphon.storage.records.money import (
    Budget,
    ExhaustedBudget,
    MoneyClaim,
    Period,
    TenantBudget,
    day_of,
    month_of,
)
from antiphon.storage.records.tenants import UsageRecord

Levels = Mapping[str, Mapping[Period, int]]
"""The spent and reserved amounts of the day and the month, by budget."""


@writes("put_tenant_budget", is_of_all=True, frees=True)
def put_tenant(budget: TenantBudget) -> Operation[None]:
    """Store the budget of a tenant. A budget without limits deletes it."""
    if budget.budget == Budget():
        yield from query_rows("delete_tenant_budget", budget.tenant)
        yield from query_rows("close_budget", budget.tenant, "")
    else:
        yield from query_rows(
            "put_tenant_budget", budget.tenant, budget.budget.per_day, budget.budget.per_month
        )


@reads("tenant_budgets", is_of_all=True)
def of_tenants() -> Operation[list[TenantBudget]]:
    """Return the budgets of all tenants, by name."""
    rows = yield from query_rows("tenant_budgets")
    return [TenantBudget(tenant, Budget(per_day, per_month)) for tenant, per_day, per_month in rows]


def lock(claim: MoneyClaim, now: float) -> Operation[Levels]:
    """Lock the budgets of a request; return their levels."""
    found = yield from _lock(claim, now)
    old = [account for account, _ in claim.accounts() if account not in found]
    if old:
        yield from query_many(
            "open_budget", [(claim.tenant, one, day_of(now), month_of(now)) for one in old]
        )
        found = yield from _lock(claim, now)
    return found


def _lock(claim: MoneyClaim, now: float) -> Operation[Levels]:
    """Lock the rows; return the levels of today's rows.

    Another replica's day may have started already.
    """
    rows = yield from query_rows("lock_budgets", claim.tenant, claim.key_id)
    return {
        account: {"day": today, "month": before + today}
        for account, day, today, before in rows
        if day >= day_of(now)
    }


def exhausted(claim: MoneyClaim, levels: Levels) -> ExhaustedBudget | None:
    """Return the budget that has no room for a request, or None if all have room."""
    cost = claim.fit()
    for account, budget in claim.accounts():
        for period, most in budget.limits():
            if levels[account][period] + cost > most:
                return ExhaustedBudget(not account, period, most)
    return None


def spend(claim: MoneyClaim) -> Operation[None]:
    """Add the reservation of a request. Its budgets must be locked."""
    yield from query_many(
        "spend_budget", [(claim.tenant, account, claim.fit()) for account, _ in claim.accounts()]
    )


def settle(uses: Iterable[UsageRecord]) -> Operation[None]:
    """Record the spent amount, and release the reservation."""
    sums: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for use in uses:
        if use.is_budgeted:
            for account in ("", use.key_id):
                both = sums[use.tenant, account, day_of(use.at)]
                both[0] += use.cost
                both[1] += use.cost_taken
    yield from query_many("settle_budget", sorted((*place, *both) for place, both in sums.items()))
