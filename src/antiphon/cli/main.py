"""The command `antiphon`: errors on one line, exit code 2 for what the user can correct."""

import sys
from typing import Annotated, Any

import typer
import typer.main
from rich.console import Console
from typer.core import TyperGroup

from antiphon.cli.ask import ask
from antiphon.cli.keys import app as keys
from antiphon.cli.models import models
from antiphon.cli.serve import serve
from antiphon.cli.status import status
from antiphon.cli.storage import db, migrate, purge
from antiphon.cli.webhooks import app as webhooks
from antiphon.errors import AntiphonError, ConfigError
from antiphon.version import __version__


class Commands(TyperGroup):
    """All commands; the suite of `verify` is loaded for who asks for it, since a server needs none of it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return [*super().list_commands(ctx), "verify"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command."""
        if cmd_name != "verify":
            return super().get_command(ctx, cmd_name)
        from antiphon.cli.verify import app as verify  # noqa: PLC0415

        command = typer.main.get_command(verify)
        command.name = cmd_name
        return command


app = typer.Typer(
    name="antiphon",
    cls=Commands,
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
