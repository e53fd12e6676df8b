"""Budgets of keys and tenants. Amounts are nano-units of the operator's currency: integers, so that sums are exact."""

import calendar
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

DAY = 86_400

Period = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent. None stands for no limit; days and months are of UTC."""

    per_day: int | None = None
    per_month: int | None = None

    def limits(self) -> Iterator[tuple[Period, int]]:
        """Yield the limits that are set, the longest period first."""
        if self.per_month is not None:
            yield "month", self.per_month
        if self.per_day is not None:
            yield "day", self.per_day


@dataclass(frozen=True, slots=True)
class TenantBudget:
    """The budget of a tenant, which all its keys share."""

    tenant: str
    budget: Budget


@dataclass(frozen=True, slots=True)
class MoneyClaim:
    """What a request is expected to cost, and the budgets that it comes from; one of them at least."""

    tenant: str
    key_id: str
    cost: int
    own: Budget | None
    """The budget of the key."""
    shared: Budget | None
    """The budget of its tenant."""

    def accounts(self) -> Iterator[tuple[str, Budget]]:
        """Yield the budgets by the id under which the store counts them, in the order in which it locks them."""
        if self.shared is not None:
            yield "", self.shared
        if self.own is not None:
            yield self.key_id, self.own

    def fit(self) -> int:
        """Return what is reserved of the cost: no more than a whole budget."""
        return min([self.cost, *(most for _, budget in self.accounts() for _, most in budget.limits())])


@dataclass(frozen=True, slots=True)
class ExhaustedBudget:
    """A budget without room for a request."""

    is_shared: bool
    """It is the budget of the tenant, not of the key."""
    period: Period
    limit: int


def day_of(at: float) -> int:
    """Return the first second of a day in UTC."""
    return int(at) // DAY * DAY


def month_of(at: float) -> int:
    """Return the first second of a month in UTC."""
    year, month = time.gmtime(at)[:2]
    return calendar.timegm((year, month, 1, 0, 0, 0))


def next_month(at: float) -> int:
    """Return the first second after a month in UTC."""
    year, month = time.gmtime(at)[:2]
    return calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0))
