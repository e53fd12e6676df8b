"""`antiphon doctor`: checks everything that a server needs, and prints what to do for each
problem.
"""

import asyncio
import json as encoder
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from msgspec import to_builtins
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from antiphon.cli.diagnosis import Finding, examine, versions
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.errors import ConfigError, without_secrets

STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Check the installation, and print how to fix problems.

    Checks the settings, store, clock, backends, image server, port, sandbox, packages and versions.
    A server need not run. The exit code is 1 if there is a `problem`, which needs an action. A
    `note` needs none.

    Examples:
      antiphon doctor
    """
    try:
        found = asyncio.run(_examined(read_settings(config, backend, store=store)))
    except ConfigError as error:
        found = [Finding("settings", "problem", error.message), *versions()]
    found = [replace(one, text=without_secrets(one.text)) for one in found]
    if json:
        sys.stdout.write(encoder.dumps([to_builtins(one) for one in found], indent=2) + "\n")
    else:
        _print(found)
    raise typer.Exit(1 if any(one.state == "problem" for one in found) else 0)


async def _examined(settings: Settings) -> list[Finding]:
    return [one async for one in examine(settings)]


def _print(found: Sequence[Finding]) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for one in found:
        line = Text(f"{one.state:<8} ", STYLES[one.state])
        line.append(f"{one.area:<9} {one.text}", "")
        console.print(line)
        if one.advice:
            console.print(f"{'':<19}{one.advice}")
    problems = sum(one.state == "problem" for one in found)
    summary = (
        "No problems were found."
        if not problems
        else f"{problems} problem{'' if problems == 1 else 's'} found."
    )
    console.print(summary, style=STYLES["problem" if problems else "ok"])
