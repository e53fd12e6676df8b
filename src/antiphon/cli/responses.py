"""`antiphon responses`: lists responses from the store, with the same filters as `GET
/v1/responses`.
"""

import asyncio
import json as encoder
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Column, Table
from rich.text import Text

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.errors import ConfigError
from antiphon.objects.response_list import displayed, too_many
from antiphon.query.conditions import Filters
from antiphon.query.response_filters import FilterError, parse_filters
from antiphon.storage.open import open_store
from antiphon.storage.operations import facts_page
from antiphon.storage.records.facts import Facts, FactsQuery

WIDEST = 240
"""Width of the table in characters if the output is not a terminal."""

NARROWEST = 20
"""Minimum width of the column `input` in characters."""

COLUMNS = ("created", "status", "duration", "first", "tokens", "model", "backend", "id", "input")


def responses(
    q: Annotated[
        str,
        typer.Option(
            "--q",
            metavar="FILTERS",
            help="Filters, such as 'status:failed since:1h \"light house\"'.",
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="Maximum number of responses.")
    ] = 50,
    tenant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Tenant. Default: the tenant of requests without an API key."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """List responses from the store, newest first.

    Shows when each response was created, its status and error, its duration, the time to the first
    token, its tokens, model, backend, ID, and the beginning of its input. A filter `sort:` changes
    the order.

    Examples:
      antiphon responses --limit 5
      antiphon responses --q 'status:failed since:1h'
    """
    try:
        filters = parse_filters(q, time.time())
    except FilterError as error:
        raise ConfigError(f"--q: {error}") from None
    found = asyncio.run(
        _load(read_settings(config, store=store).store, tenant or "", filters, limit)
    )
    if json:
        for one in found:
            typer.echo(encoder.dumps(displayed(one)))
    elif found:
        _print(found)
    else:
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(
            _why_none(q, tenant)
        )


async def _load(url: str, tenant: str, filters: Filters, limit: int) -> list[Facts]:
    store = await open_store(url)
    try:
        found: list[Facts] = []
        after: str | None = None
        while len(found) < limit:
            page = await store.read(
                facts_page.page, tenant, FactsQuery(limit - len(found), after, filters=filters)
            )
            if page.sortable_since is not None:
                raise ConfigError(f"--q: {too_many(filters, page.sortable_since)}")
            found += page.facts
            if not page.read_to:
                break
            after = page.read_to
        return found
    finally:
        await store.close()


def _why_none(q: str, tenant: str | None) -> str:
    source = f"tenant '{tenant}'" if tenant else "requests without an API key"
    if q:
        return (
            f"No response of {source} matches these filters. Responses are stored for "
            "`retention_days`."
        )
    return f"There are no responses of {source}. `--tenant` lists the responses of API keys."


def _print(found: Sequence[Facts]) -> None:
    """Print a table that shortens only the input.

    On a narrow terminal, its lines are longer than the screen.
    """
    rows = [_row(one) for one in found]
    others = (
        sum(
            max(map(cell_len, (name, *cells))) + 2
            for name, *cells in zip(COLUMNS, *rows, strict=True)
        )
        + 1
    )
    others -= max(cell_len(row[-1]) for row in (COLUMNS, *rows))
    console = Console(highlight=False, markup=False)
    width = max(console.width if console.is_terminal else WIDEST, others + NARROWEST)
    console.width = width
    right: JustifyMethod = "right"
    table = Table(
        *(Column(name, no_wrap=True) for name in COLUMNS[:2]),
        *(Column(name, no_wrap=True, justify=right) for name in COLUMNS[2:5]),
        *(Column(name, no_wrap=True) for name in COLUMNS[5:8]),
        Column(COLUMNS[8], no_wrap=True, overflow="ellipsis", max_width=width - others),
        box=None,
    )
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table, crop=False)


def _row(one: Facts) -> tuple[str, ...]:
    created = datetime.fromtimestamp(one.began / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    status = f"{one.status} ({one.error})" if one.error else one.status
    took = None if one.ended is None else one.ended - one.began
    tokens = f"{one.input_tokens + one.output_tokens:,}"
    return (
        created,
        status,
        _seconds(took),
        _seconds(one.first),
        tokens,
        *map(_visible, (one.model, one.backend, one.id, one.input)),
    )


def _seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.2f} s"


def _visible(text: str) -> str:
    """Return text of a client or model without control characters."""
    return "".join([char if char.isprintable() else " " for char in text])
