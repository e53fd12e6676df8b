"""`antiphon models`: what can be reached, as a table."""

import asyncio

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon.application import build
from antiphon.cli.flags import BackendFlag, ConfigFlag
from antiphon.cli.offered import offered
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.upstream.backend_state import BackendState


def models(backend: BackendFlag = None, config: ConfigFlag = None) -> None:
    """List the models that can be reached."""
    settings = read_settings(config, backend, store="sqlite://")
    Console().print(_table(asyncio.run(_look(settings))))


async def _look(settings: Settings) -> list[BackendState]:
    house = await build(settings)
    try:
        await house.listing
        return house.engine.models.backends
    finally:
        await house.close()


def _table(served: list[BackendState]) -> Table:
    table = Table(*(Column(name, overflow="fold") for name in ("model", "backend", "dialect", "API", "URL")))
    for one in served:
        place = (one.backend.name, one.dialect.name, one.api, one.backend.url or "in this process")
        names = offered(one)
        for name in names:
            table.add_row(*map(Text, (name, *place)))
        if one.error or not names:
            table.add_row(Text(one.error or "no models", style="red"), *map(Text, place))
    return table
