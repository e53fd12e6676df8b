"""Budgets of keys and tenants: what was spent and reserved in this day and month.

A request that is admitted locks the rows of its budgets, so requests of one tenant in any process decide one after the
other. Whoever locks budgets and the levels of limits locks the budgets first, in the order of their ids.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from antiphon.storage.operations.step import Operation, ask, ask_many
from antiphon.storage.records import Budget, ExhaustedBudget, MoneyClaim, TenantBudget, UsageRecord
from antiphon.storage.records.money import Period, day_of, month_of

Level = Mapping[Period, tuple[int, int]]
"""By period: its first second, and what was spent and reserved in it."""


def put_tenant(given: TenantBudget) -> Operation[None]:
    """Keep the budget of a tenant; one without a limit ends it."""
    if given.budget == Budget():
        yield from ask("delete_tenant_budget", given.tenant)
        yield from ask("close_budget", given.tenant, "")
    else:
        yield from ask("put_tenant_budget", given.tenant, given.budget.per_day, given.budget.per_month)


def of_tenants() -> Operation[list[TenantBudget]]:
    """Get the budgets of all tenants."""
    rows = yield from ask("tenant_budgets")
    return [TenantBudget(tenant, Budget(per_day, per_month)) for tenant, per_day, per_month in rows]


def lock(claim: MoneyClaim, now: float) -> Operation[Mapping[str, Level]]:
    """Lock the budgets of a request; return how far they are used up."""
    found = yield from _lock(claim, now)
    missing = [account for account, _ in claim.accounts() if account not in found]
    if missing:  # what was spent before the budget was set counts
        yield from ask_many("open_budget", [(claim.tenant, one, day_of(now), month_of(now)) for one in missing])
        found = yield from _lock(claim, now)
    return found


def _lock(claim: MoneyClaim, now: float) -> Operation[Mapping[str, Level]]:
    rows = yield from ask("lock_budgets", claim.tenant, claim.key_id)
    return {
        account: {"day": _current(day_of(now), day, day_cost), "month": _current(month_of(now), month, month_cost)}
        for account, day, day_cost, month, month_cost in rows
    }


def _current(now: int, begin: int, cost: int) -> tuple[int, int]:
    # Another replica's clock may be a moment ahead: its day has begun.
    return (begin, cost) if begin >= now else (now, 0)


def exhausted(claim: MoneyClaim, levels: Mapping[str, Level]) -> ExhaustedBudget | None:
    """Return the budget that has no room for a request, None where all have."""
    cost = claim.fit()
    for account, budget in claim.accounts():
        for period, most in budget.limits():
            if levels[account][period][1] + cost > most:
                return ExhaustedBudget(not account, period, most)
    return None


def spend(claim: MoneyClaim, levels: Mapping[str, Level]) -> Operation[None]:
    """Count what is reserved for a request."""
    cost = claim.fit()
    rows = [
        (claim.tenant, account, levels[account]["day"][0], cost, levels[account]["month"][0], cost)
        for account, _ in claim.accounts()
    ]
    yield from ask_many("count_cost", rows)


def settle(uses: Iterable[UsageRecord]) -> Operation[None]:
    """Count what was spent, less what was reserved for it."""
    sums: dict[tuple[str, str, int, int], list[int]] = defaultdict(lambda: [0, 0])
    for use in uses:
        if use.is_budgeted:
            for account in ("", use.key_id):
                both = sums[use.tenant, account, day_of(use.at), month_of(use.at)]
                both[0] += use.cost - use.cost_back_today
                both[1] += use.cost - use.cost_back_this_month
    rows = [(tenant, account, day, today, month, rest) for (tenant, account, day, month), (today, rest) in sums.items()]
    yield from ask_many("count_cost", sorted(rows))
