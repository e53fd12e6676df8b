"""Budgets of keys and tenants. Amounts are nano-units of the operator's currency: integers, so that
sums are exact.
"""

import calendar
import time
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

DAY = 86_400

Period = Literal["day", "month"]


class Budget(Struct, frozen=True):
    """A spending limit. None means no limit; days and months are in UTC."""

    per_day: int | None = None
    per_month: int | None = None

    def limits(self) -> Iterator[tuple[Period, int]]:
        """Yield the limits that are set, longest period first."""
        if self.per_month is not None:
            yield "month", self.per_month
        if self.per_day is not None:
            yield "day", self.per_day


class TenantBudget(Struct, frozen=True):
    """The budget of a tenant. All its keys share it."""

    tenant: str
    budget: Budget


class MoneyClaim(Struct, frozen=True):
    """The expected cost of a request, and the budgets that pay for it (at least one)."""

    tenant: str
    key_id: str
    cost: int
    own: Budget | None
    """The budget of the key."""
    shared: Budget | None
    """The budget of the key's tenant."""

    def accounts(self) -> Iterator[tuple[str, Budget]]:
        """Yield each budget with the id of its account in the store, in the order in which the
        store locks them.
        """
        if self.shared is not None:
            yield "", self.shared
        if self.own is not None:
            yield self.key_id, self.own

    def fit(self) -> int:
        """Return the part of the cost to reserve: at most a whole budget."""
        return min(
            [self.cost, *(most for _, budget in self.accounts() for _, most in budget.limits())]
        )


class ExhaustedBudget(Struct, frozen=True):
    """A budget that has no room for a request."""

    is_shared: bool
    """Whether it is the tenant's budget, rather than the key's."""
    period: Period
    limit: int


def day_of(at: float) -> int:
    """Return the first second of the day in UTC."""
    return int(at) // DAY * DAY


def month_of(at: float) -> int:
    """Return the first second of the month in UTC."""
    year, month = time.gmtime(at)[:2]
    return calendar.timegm((year, month, 1, 0, 0, 0))


def next_month(at: float) -> int:
    """Return the first second of the next month in UTC."""
    year, month = time.gmtime(at)[:2]
    return calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0))
