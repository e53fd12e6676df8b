"""`antiphon keys usage`, `budgets` and `set-budget`: the usage of keys, and the budgets of
tenants.
"""

import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, get_args

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.key_options import budget_of, money
from antiphon.cli.key_tables import plain_table, print_whole, spent_at_most
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, print_result, with_store
from antiphon.errors import ConfigError
from antiphon.ids import TENANT_RULE, is_tenant_name
from antiphon.objects.usage import usage_object
from antiphon.storage.operations import api_keys
from antiphon.storage.operations import budgets as stored_budgets
from antiphon.storage.records.money import DAY, Budget, TenantBudget, day_of
from antiphon.storage.records.tenants import UsageField, UsageRow
from antiphon.storage.store import Store
from antiphon.upstream.prices import decimal

DAYS = 30
"""Default number of days: today and the days before."""

NUMBERS = ("requests", "input", "cached", "output", "cost")

_DAYS = re.compile(r"(\d{1,5})d")

TenantArgument = Annotated[
    str, typer.Argument(metavar="TENANT", help="Tenant, as in `antiphon keys list`.")
]


def usage(
    by: Annotated[
        str,
        typer.Option(
            metavar="FIELDS",
            help="Fields to group by, separated by commas: tenant, key, model, day.",
        ),
    ] = "tenant,key",
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Tenant. Default: all tenants.")
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="DATE",
            help="First day in UTC: a date such as 2026-11-01, or 7d for seven days.",
        ),
    ] = f"{DAYS}d",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Show the requests, tokens and cost of keys.

    The numbers are summed up by tenant and key, or by the fields in `--by`.

    Examples:
      antiphon keys usage --by tenant,model --since 7d
    """
    fields = _fields(by)
    now = time.time()
    begin = _begin(since, now)
    currency = read_settings(config, store=store).currency

    async def act(opened: Store) -> None:
        rows = await opened.read(api_keys.usage, tenant, begin, int(now) + 1, fields)
        if as_json:
            print_result(json.dumps([usage_object(row, currency) for row in rows], indent=2))
        elif rows:
            print_whole(plain_table(fields, [_row(row, fields, currency) for row in rows], NUMBERS))
        else:
            notice(f"There was no usage since {_date(begin)}.")

    with_store(store, config, act)


def budgets(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List the budgets of tenants.

    Examples:
      antiphon keys budgets
    """
    currency = read_settings(config, store=store).currency

    async def act(opened: Store) -> None:
        found = await opened.read(stored_budgets.of_tenants)
        if not found:
            print_result("No tenant has a budget. Set one with `antiphon keys set-budget`.")
            return
        rows = [(one.tenant, ", ".join(spent_at_most(one.budget, currency))) for one in found]
        print_whole(plain_table(("tenant", "budget"), rows))

    with_store(store, config, act)


def set_budget(
    tenant: TenantArgument,
    per_day: Annotated[
        int | None,
        typer.Option(
            metavar="AMOUNT", parser=money, help="Budget of all keys of the tenant per day in UTC."
        ),
    ] = None,
    per_month: Annotated[
        int | None,
        typer.Option(
            metavar="AMOUNT",
            parser=money,
            help="Budget of all keys of the tenant per month in UTC.",
        ),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove the budget.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Set the budget that all keys of a tenant share.

    Examples:
      antiphon keys set-budget team-a --per-month 100
    """
    if not is_tenant_name(tenant):
        raise ConfigError(TENANT_RULE)
    budget = budget_of(per_day, per_month)
    if (budget is None) is not none:
        raise ConfigError("Set `--per-day` or `--per-month`, or remove the budget with `--none`.")
    currency = read_settings(config, store=store).currency

    async def act(opened: Store) -> None:
        await opened.write(stored_budgets.put_tenant, TenantBudget(tenant, budget or Budget()))
        allowed = " and ".join(spent_at_most(budget, currency))
        print_result(
            f"The tenant {tenant} can spend {allowed}."
            if budget
            else f"The tenant {tenant} has no budget."
        )
        if budget and not any(key.tenant == tenant for key in await opened.read(api_keys.every)):
            print_result(
                "This tenant has no API keys yet. Check the name: `antiphon keys list` shows the "
                "tenants of all keys."
            )

    with_store(store, config, act)


def _fields(by: str) -> list[UsageField]:
    known = get_args(UsageField)
    names = [name.strip() for name in by.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"--by: '{unknown[0]}' is not one of {', '.join(known)}.")
    return [field for field in known if field in names]


def _begin(since: str, now: float) -> int:
    if days := _DAYS.fullmatch(since):
        return max(0, day_of(now) - (int(days[1]) - 1) * DAY)
    try:
        return int(datetime.strptime(since, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise ConfigError(
            f"--since: '{since}' is neither a date such as 2026-11-01 nor days such as 7d."
        ) from None


def _row(row: UsageRow, fields: Sequence[UsageField], currency: str) -> list[str]:
    displayed = {
        "tenant": row.tenant or "",
        "key": " ".join(filter(None, (row.key_id, row.name))),
        "model": row.model or "-",
        "day": _date(row.day or 0),
    }
    counts = (row.requests, row.input_tokens, row.cached_tokens, row.output_tokens)
    return [
        *(displayed[field] for field in fields),
        *map(str, counts),
        f"{decimal(row.cost)} {currency}",
    ]


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
