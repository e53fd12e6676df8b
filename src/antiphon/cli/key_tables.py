"""Tables of the commands: no cell is cut off, and a pipe receives unfolded lines."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon.storage.records.money import Budget
from antiphon.storage.records.tenants import ApiKey
from antiphon.upstream.prices import decimal

WIDEST = 10_000
"""Width in characters if the output is not a terminal."""

NARROWEST = 10
"""Minimum width of a column in characters, in addition to the columns that are never folded."""


def keys_table(keys: Sequence[ApiKey], currency: str) -> Table:
    """Return a row for each key."""
    others = ("tenant", "name", "role", "created", "state", "limits")
    return copied_table(("id", "key"), others, (_row(key, time.time(), currency) for key in keys))


def copied_table(
    copied: Sequence[str], others: Sequence[str], rows: Iterable[Sequence[str]]
) -> Table:
    """Return a table of texts.

    The `copied` columns are never folded, so that their cells can be copied.
    """
    whole = (Column(name, no_wrap=True) for name in copied)
    folded = (Column(name, overflow="fold") for name in others)
    return _filled(Table(*whole, *folded, box=None), rows)


def plain_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> Table:
    """Return a table of texts; the columns of `numbers` follow the others, aligned to the right."""
    texts = (Column(name, overflow="fold") for name in names)
    return _filled(
        Table(*texts, *(Column(name, justify="right", no_wrap=True) for name in numbers), box=None),
        rows,
    )


def print_whole(table: Table) -> None:
    """Print a table in full: on a terminal that is too narrow, its lines are longer than the
    screen.
    """
    console = Console()
    whole = sum(
        max(map(len, map(str, column.cells)), default=0)
        for column in table.columns
        if column.no_wrap
    )
    narrowest = whole + NARROWEST * len(table.columns)
    console.width = max(console.width, narrowest) if console.is_terminal else WIDEST
    console.print(table, crop=False)


def spent_at_most(budget: Budget | None, currency: str) -> list[str]:
    """Return the limits of a budget as text."""
    return [
        f"{decimal(most)} {currency}/{period}"
        for period, most in (budget.limits() if budget else ())
    ]


def _filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _row(key: ApiKey, now: float, currency: str) -> tuple[str, ...]:
    caller = (key.id, key.displayed, key.tenant, key.name, key.role.value)
    return *caller, _time(key.created_at), _state(key, now), _allowed(key, currency)


def _state(key: ApiKey, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "active"
    return "expired" if key.expires_at <= now else f"until {_time(key.expires_at)}"


def _allowed(key: ApiKey, currency: str) -> str:
    limits = key.limits
    parts = {
        "requests/min": limits.requests_per_minute,
        "tokens/min": limits.tokens_per_minute,
        "tokens/day": limits.tokens_per_day,
        "concurrent": limits.concurrency,
    }
    stated = [f"{limit} {what}" for what, limit in parts.items() if limit is not None]
    flags = ["cache"] if key.caches else []
    return ", ".join([*limits.models, *stated, *spent_at_most(limits.budget, currency), *flags])


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%MZ")
