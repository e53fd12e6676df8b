"""The command `antiphon`: errors on one line, exit code 2 for what the user can correct."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from antiphon.cli.ask import ask
from antiphon.cli.keys import app as keys
from antiphon.cli.models import models
from antiphon.cli.serve import serve
from antiphon.cli.status import status
from antiphon.cli.storage import db, migrate, purge
from antiphon.cli.verify import app as verify
from antiphon.cli.webhooks import app as webhooks
from antiphon.errors import AntiphonError, ConfigError
from antiphon.version import __version__

app = typer.Typer(
    name="antiphon",
    help="The Responses API over any Chat Completions backend.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(models)
app.command()(status)
app.command()(ask)
app.command()(migrate)
app.command()(purge)
app.add_typer(db, name="db")
app.add_typer(keys, name="keys")
app.add_typer(webhooks, name="webhooks")
app.add_typer(verify, name="verify")


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(f"antiphon {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Say what holds for every command."""


def run() -> None:
    """Run the command line; end the process with its exit code."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        _complain(getattr(error, "format_message", error.__str__)())
        code = 2
    except AntiphonError as error:
        _complain(error.message)
        code = 2 if isinstance(error, ConfigError) else 1
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> None:
    Console(stderr=True).print(f"antiphon: {' '.join(message.split())}", style="red", markup=False, soft_wrap=True)
