"""`antiphon models`: what can be reached, as a table."""

import asyncio

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon.application import build
from antiphon.cli.flags import BackendFlag, ConfigFlag
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.upstream.backend_state import BackendState, is_listed


def offered(served: BackendState) -> list[str]:
    """Return a line for each name that clients may ask for, an alias with what it stands for.

    One that the backend does not list is marked, where it listed its models.
    """
    return [_line(served, model["id"]) for model in served.offers()]


def _line(served: BackendState, name: str) -> str:
    called = served.options.aliases.get(name, name)
    line = name if called == name else f"{name} → {called}"
    is_known = is_listed(called, (model["id"] for model in served.models))
    return line if is_known or served.error else f"{line} (not listed)"


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
