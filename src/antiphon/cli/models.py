"""`antiphon models`: lists the models of all backends, and measures and shows their profiles."""

import asyncio
import json as encoder
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon.build import build
from antiphon.cli import profiles
from antiphon.cli.error_output import complain
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.model_names import offered
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.errors import AntiphonError
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.probing.measurement import summary, verdict

HEADINGS = ("model", "backend", "dialect", "API", "URL", "status", "profile", "lessons")
"""Columns of the list."""

ALWAYS = HEADINGS[:5]
"""Columns that are always in the list; the others are omitted if they are empty."""

STYLES = {"status": "red"}
"""Styles of columns."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Name of the model that clients use.")
]
AtFlag = Annotated[
    str | None,
    typer.Option(
        "--backend", metavar="NAME|URL", help="Name of a backend in the settings, or its base URL."
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def models(context: typer.Context, backend: BackendFlag = None, config: ConfigFlag = None) -> None:
    """List the models of all backends.

    The table has the name that clients use, the backend, its dialect and API, a one-line profile of
    the model, and what refusals of the backend taught in the last day. The error of each backend
    that failed is on standard error. The exit code is 1 if no model is reachable.

    Examples:
      antiphon models
    """
    if context.invoked_subcommand is None:
        raise typer.Exit(asyncio.run(_list(read_settings(config, backend))))


@app.command()
def probe(
    model: ModelArgument,
    backend: AtFlag = None,
    measure_window: Annotated[
        bool,
        typer.Option(
            "--measure-window",
            help="Also measure the context window, with up to nine long prompts. Prints their "
            "cost first.",
        ),
    ] = False,
    paid: Annotated[
        bool,
        typer.Option(
            "--paid",
            help="Also probe backends that may cost money: services, public addresses, cloud "
            "models of Ollama.",
        ),
    ] = False,
    json: JsonFlag = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Measure what a model can do, and store its profile.

    Sends the model about twenty short requests, and prints each fact, or the reason why it stays
    unknown.

    Examples:
      antiphon models probe qwen3
    """
    settings = _at(backend, config, store)
    console = Console(stderr=True, highlight=False, markup=False)
    known = asyncio.run(
        profiles.probe(
            settings, model, _named(backend), console, measures=measure_window, paid=paid
        )
    )
    _print(known, as_json=json)


@app.command()
def show(
    model: ModelArgument,
    backend: AtFlag = None,
    json: JsonFlag = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Show every known fact about a model.

    Each fact has its origin: a measurement or the settings. The table ends with the defaults for
    requests from the settings.

    Examples:
      antiphon models show demo
    """
    _print(
        asyncio.run(profiles.known(_at(backend, config, store), model, _named(backend))),
        as_json=json,
    )


@app.command()
def export(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Name of the model that clients use. Default: all."),
    ] = None,
    backend: AtFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Print stored profiles as TOML for the settings file.

    Each profile is a table with the facts that a probe measured.

    Examples:
      antiphon models export qwen3
    """
    tables = profiles.toml(
        asyncio.run(profiles.known(_at(backend, config, store), model, _named(backend)))
    )
    if not tables:
        raise AntiphonError(_no_profile(model))
    sys.stdout.write(tables)


@app.command()
def forget(
    model: ModelArgument, backend: AtFlag = None, store: StoreFlag = None, config: ConfigFlag = None
) -> None:
    """Delete the stored profile of a model, and the lessons about it.

    Lessons are what refusals of its backends taught. Running servers forget them within
    seconds.

    Examples:
      antiphon models forget qwen3
    """
    counts = asyncio.run(profiles.forget(_at(backend, config, store), model, _named(backend)))
    if not any(counts):
        raise AntiphonError(_no_profile(model))
    pairs = zip(counts, ("profile", "lesson"), strict=True)
    deleted = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in pairs if count]
    Console().print(f"Deleted {' and '.join(deleted)}.", highlight=False)


def _no_profile(model: str | None) -> str:
    what = f" of the model '{model}'" if model else ""
    return (
        f"No profile{what} is stored for these backends. "
        f"`antiphon models probe {model or 'MODEL'}` measures one."
    )


def _at(backend: str | None, config: Any, store: str | None) -> Settings:
    """Return the settings, with the backend alone if the command has its URL."""
    return read_settings(config, [backend] if backend and "://" in backend else None, store=store)


def _named(backend: str | None) -> str:
    return "" if backend is None or "://" in backend else backend


async def _list(settings: Settings) -> int:
    """Print the models, and the errors of backends; return 1 if no model can be reached."""
    records = await profiles.stored(settings)
    application = await build(profiles.in_memory(settings))
    try:
        await application.listing
        states = application.parts.models.backends
        profiles.use(states, records)
        Console().print(_table(states))
        for one in states:
            if one.error:
                complain(one.error)
        return 0 if any(one.offers() and not one.error for one in states) else 1
    finally:
        await application.close()


def _table(server: list[BackendState]) -> Table:
    rows = [row for one in server for row in _rows(one)]
    columns = [
        column
        for column in zip(HEADINGS, *rows, strict=True)
        if column[0] in ALWAYS or any(column[1:])
    ]
    table = Table(
        *(Column(name, overflow="fold", style=STYLES.get(name, "")) for name, *_ in columns)
    )
    for cells in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _rows(one: BackendState) -> Sequence[tuple[str, ...]]:
    """Return a row for each model of a backend, and one with a status for a backend without any."""
    place = (
        one.backend.name,
        one.dialect.name,
        "ollama" if one.native else "messages" if one.messages else one.api,
        one.backend.url or "in this process",
    )
    names = offered(one)
    rows: list[tuple[str, ...]] = [
        (name, *place, "", profiles.line(one, model["id"]), profiles.taught(one, model["id"]))
        for name, model in zip(names, one.offers(), strict=True)
    ]
    if one.error or not names:
        text = (
            "no models"
            if not one.error
            else "no list of models"
            if one.is_reached
            else "unreachable"
        )
        rows.append(("", *place, text, "", ""))
    return rows


def _print(known: Sequence[profiles.KnownModel], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(encoder.dumps([one.as_json() for one in known], indent=2) + "\n")
        return
    console = Console(highlight=False, markup=False)
    for one in known:
        console.print(one.heading(), soft_wrap=True)
        table = Table("fact", "value", "known from")
        for cells in one.rows():
            table.add_row(*map(Text, cells))
        console.print(table)
        console.print(summary(one.profile) or "Nothing is known of this model.", soft_wrap=True)
        if sentence := verdict(one.profile):
            console.print(sentence, soft_wrap=True)
