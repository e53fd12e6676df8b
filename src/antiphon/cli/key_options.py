"""The options of `antiphon keys create` and `antiphon keys update`, and the change that they
make.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from antiphon.cli.usage import BadValue
from antiphon.errors import ConfigError
from antiphon.storage.records.money import Budget
from antiphon.storage.records.tenants import ApiKey, KeyLimits, Role
from antiphon.upstream.prices import NANO, nano

DAY = 86_400

MOST = 1_000_000_000
"""The largest limit, and the largest budget in units of the currency."""


class Unset(StrEnum):
    """Limits that `--unset` removes."""

    MODEL = "model"
    REQUESTS_PER_MINUTE = "requests-per-minute"
    TOKENS_PER_MINUTE = "tokens-per-minute"
    TOKENS_PER_DAY = "tokens-per-day"
    CONCURRENCY = "concurrency"
    BUDGET_PER_DAY = "budget-per-day"
    BUDGET_PER_MONTH = "budget-per-month"
    EXPIRY = "expiry"


def _limit(of: str) -> Any:
    return typer.Option(metavar="N", min=1, max=MOST, help=f"{of}. Default: no limit.")


def money(text: str) -> int:
    """Return an amount such as `12.50` in nano-units. Raises `BadValue` for an invalid one."""
    try:
        amount = nano(text)
    except ValueError as error:
        raise BadValue(f"is invalid: {error}") from None
    if not 0 < amount <= MOST * NANO:
        raise BadValue(f"must be above 0 and at most {MOST:,}")
    return amount


def _money(of: str) -> Any:
    return typer.Option(
        metavar="AMOUNT",
        parser=money,
        help=f"Budget per {of} in UTC, such as 5 or 0.50. Default: no limit.",
    )


ModelOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Model that the key can use. Default: all. Can be repeated."),
]
RequestsOption = Annotated[int | None, _limit("Maximum requests per minute")]
TokensOption = Annotated[int | None, _limit("Maximum tokens per minute, input and output together")]
TokensPerDayOption = Annotated[int | None, _limit("Maximum tokens per day in UTC")]
ConcurrencyOption = Annotated[int | None, _limit("Maximum concurrent requests to each process")]
BudgetPerDayOption = Annotated[int | None, _money("day")]
BudgetPerMonthOption = Annotated[int | None, _money("month")]
ExpiresOption = Annotated[
    int | None,
    typer.Option(
        metavar="DAYS", min=1, max=36_500, help="Days until the key expires. Default: never."
    ),
]


def budget_of(per_day: int | None, per_month: int | None) -> Budget | None:
    """Return a budget, None for no limit at all."""
    return None if per_day is None and per_month is None else Budget(per_day, per_month)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A change of a key. None means that the value stays as it is."""

    name: str | None = None
    models: Sequence[str] | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    concurrency: int | None = None
    budget_per_day: int | None = None
    budget_per_month: int | None = None
    expires_in: int | None = None
    """Days."""
    cache: bool | None = None
    role: Role | None = None
    unset: Sequence[Unset] = ()

    def applied(self, key: ApiKey, now: int) -> ApiKey:
        """Return the changed key.

        Raises `ConfigError` if nothing changes, or a limit is both set and removed.
        """
        if self == KeyChange():
            raise ConfigError("Nothing to change. `antiphon keys update --help` lists the options.")
        self._check_unset()
        expires_at = key.expires_at if self.expires_in is None else now + self.expires_in * DAY
        return replace(
            key,
            name=key.name if self.name is None else self.name,
            expires_at=None if Unset.EXPIRY in self.unset else expires_at,
            limits=self._limits(key.limits),
            caches=key.caches if self.cache is None else self.cache,
            role=key.role if self.role is None else self.role,
        )

    def _limits(self, before: KeyLimits) -> KeyLimits:
        old = before.budget or Budget()
        return KeyLimits(
            ()
            if Unset.MODEL in self.unset
            else before.models
            if self.models is None
            else tuple(self.models),
            self._changed(
                Unset.REQUESTS_PER_MINUTE, before.requests_per_minute, self.requests_per_minute
            ),
            self._changed(
                Unset.TOKENS_PER_MINUTE, before.tokens_per_minute, self.tokens_per_minute
            ),
            self._changed(Unset.TOKENS_PER_DAY, before.tokens_per_day, self.tokens_per_day),
            self._changed(Unset.CONCURRENCY, before.concurrency, self.concurrency),
            budget_of(
                self._changed(Unset.BUDGET_PER_DAY, old.per_day, self.budget_per_day),
                self._changed(Unset.BUDGET_PER_MONTH, old.per_month, self.budget_per_month),
            ),
        )

    def _changed(self, name: Unset, before: int | None, after: int | None) -> int | None:
        return None if name in self.unset else before if after is None else after

    def _check_unset(self) -> None:
        fields = {Unset.MODEL: "models", Unset.EXPIRY: "expires_in"}
        for name in self.unset:
            if getattr(self, fields.get(name, name.value.replace("-", "_"))) is not None:
                raise ConfigError(
                    f"`--unset {name.value}` and a new value contradict each other. "
                    "Use one of them."
                )
