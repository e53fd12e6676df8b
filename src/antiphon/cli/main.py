"""The command line, parsed by Typer."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from rich.console import Console
from typer.core import TyperGroup

from antiphon.cli.error_output import complain
from antiphon.cli.usage import make_plain, usage_message
from antiphon.extras import USERS, is_installed, require
from antiphon.extras import command as install_command
from antiphon.packages import problem_with
from antiphon.verifier import (
    INSTALL,
    is_verifier_installed,
    problem_with_verifier,
    require_verifier,
)
from antiphon.version import __version__

FORM: Mapping[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}

COMMANDS = {
    "serve": "serving.serve",
    "worker": "worker.worker",
    "models": "models.app",
    "status": "status.status",
    "doctor": "doctor.doctor",
    "console": "console.console",
    "responses": "responses.responses",
    "ask": "ask.ask",
    "launch": "launch.launch",
    "migrate": "storage.migrate",
    "purge": "storage.purge",
    "db": "storage.db",
    "backup": "backup.backup",
    "restore": "backup.restore",
    "files": "files.app",
    "containers": "containers.app",
    "keys": "keys.app",
    "stores": "stores.app",
    "webhooks": "webhooks.app",
    "verify": "verify.app",
    "trust-report": "trust_report.trust_report",
    "demo-backend": "demo_backend.demo_backend",
}
"""The module and function of each command, in the order of the help. Each is imported only when it
is used.
"""

NEEDED: Mapping[str, str] = {"demo-backend": "demo-backend", "trust-report": "demo-backend"}
"""The extra that a command needs."""

VERIFY = "verify"
"""The command that needs the package `antiphon-verify`."""


class CommandGroup(TyperGroup):
    """The commands of `antiphon`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        found = _loaded(cmd_name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(**FORM)
            alone.command()(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        make_plain(command)
        return command


def _loaded(name: str) -> Any:
    """Return a command, or if what it needs is not installed or does not work, a command that says
    so.
    """
    module, _, function = COMMANDS[name].partition(".")
    module = f"antiphon.cli.{module}"
    if not (problem := _problem_with(name, module)):
        return getattr(import_module(module), function)
    absent = typer.Typer(**FORM)
    free = {"allow_extra_args": True, "ignore_unknown_options": True}
    absent.command(context_settings=free, help=problem)(lambda: _require(name, module))
    return absent


def _problem_with(name: str, module: str) -> str:
    """Return why a command of this module cannot run; empty if it can, or needs no further
    package.
    """
    if name == VERIFY:
        return (
            problem_with_verifier(module)
            if is_verifier_installed()
            else f"Not installed; in a clone: {INSTALL}"
        )
    extra = NEEDED.get(name)
    if extra is None:
        return ""
    if not is_installed(extra):
        return f"Not installed: {install_command(extra)}"
    return next(filter(None, map(problem_with, USERS[extra])), "")


def _require(name: str, module: str) -> None:
    """Raise `ConfigError` for a command that cannot run."""
    what = f"The command `antiphon {name}`"
    if name == VERIFY:
        require_verifier(module, what)
    else:
        require(NEEDED[name], what)


app = typer.Typer(
    name="antiphon",
    cls=CommandGroup,
    help="Serve the Responses API over any Chat Completions backend.",
    **FORM,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(f"antiphon {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Define the options of every command."""


def run() -> int:
    """Run the command line; return its exit code. Raises `AntiphonError`."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False, prog_name="antiphon")
    except typer.TyperException as error:
        complain(usage_message(error))
        return 2
    except typer.Abort:
        return 130
    return code if isinstance(code, int) else 0
