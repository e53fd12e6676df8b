"""`antiphon webhooks deliveries`: what is still to be delivered, and what was given up."""

import asyncio
from datetime import UTC, datetime

import typer
from rich.console import Console
from rich.table import Table

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.storage.contract import Delivery
from antiphon.storage.open import open_store

app = typer.Typer(help="Inspect webhook deliveries.", add_completion=False, rich_markup_mode=None)


@app.callback()
def about() -> None:
    """Inspect webhook deliveries."""


@app.command()
def deliveries(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List the deliveries that wait or were given up."""
    found = asyncio.run(_load(read_settings(config, store=store).store))
    console = Console()
    if not found:
        console.print("Every webhook was delivered.")
        return
    table = Table("delivery", "endpoint", "event", "created", "attempts", "next", "trouble", box=None)
    for one in found:
        table.add_row(*_row(one))
    console.print(table)


async def _load(url: str) -> list[Delivery]:
    store = await open_store(url)
    try:
        return await store.deliveries()
    finally:
        await store.close()


def _row(delivery: Delivery) -> tuple[str, ...]:
    state = "given up" if delivery.failed_at else _time(delivery.due_at)
    created = _time(delivery.created_at)
    return (
        delivery.id,
        delivery.endpoint.id,
        delivery.type,
        created,
        str(delivery.attempts),
        state,
        delivery.last_error,
    )


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
