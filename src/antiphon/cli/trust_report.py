"""`antiphon trust-report`: what this machine and this store keep when something breaks."""

import asyncio
import random
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from antiphon.cli.with_store import with_store
from antiphon.errors import ConfigError
from antiphon.storage.operations import health
from antiphon.storage.store import Store
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.page import page_of
from antiphon.trust.report import run_checks

SIGNS = {"holds": "[green]holds[/]", "broken": "[red]BROKEN[/]", "not checked": "not checked"}


def trust_report(
    minutes: Annotated[
        float, typer.Option(min=0.1, max=600, metavar="N", help="Time for all checks.")
    ] = 5.0,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An empty database for the checks. Default: an own SQLite file."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run this check only; can be repeated."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Choose the same moments as another run.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report here.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the data here.")] = None,
) -> None:
    """Check what servers on this machine keep when something breaks.

    Servers are started, killed, filled and flooded on a store that has no data: on an SQLite file
    of their own, or on an empty database that you name. The servers that you run are not touched.
    The exit code is 0 only if each claim that was checked holds.

    Examples:
      antiphon trust-report --minutes 5 --html trust.html
      antiphon trust-report --store postgresql://user@host/empty --only recovery
    """
    console = Console(highlight=False, soft_wrap=True)

    def show(finding: CheckedClaim) -> None:
        figures = ", ".join(f"{name}: {value}" for name, value in finding.figures.items())
        console.print(f"{SIGNS[finding.outcome]}  {finding.claim}")
        for line in (figures, finding.detail):
            if line:
                console.print(f"    {line}", style="dim", markup=False)

    if store is not None:
        with_store(store, None, _check_empty)
    if seed is None:
        seed = random.randrange(1_000_000)  # noqa: S311 - to be repeated, not to be secret
    report = asyncio.run(
        run_checks(
            only or [],
            store=store or "",
            minutes=minutes,
            seed=seed,
            show=show,
        )
    )
    for file, text in ((html, page_of(report)), (json, msgspec.json.encode(report).decode())):
        if file is not None:
            _write(file, text)
    console.print(f"It took {report.seconds:.0f} s. Repeat it with: {report.command}", markup=False)
    raise typer.Exit(int(report.is_broken))


async def _check_empty(store: Store) -> None:
    if (await store.read(health.count_rows))["responses"]:
        raise ConfigError(
            "The store has responses, and these checks fill and break it. "
            "Create an empty database for them."
        )


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Cannot write {file}: {error.strerror}.") from error
