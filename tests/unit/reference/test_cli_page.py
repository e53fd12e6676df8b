"""The page of commands lists every command and every flag."""

from typing import Any

import typer
import typer.core
import typer.main

from antiphon.cli.main import app
from tests.support.pages import table


def commands(group: typer.core.TyperGroup, before: str = "") -> dict[str, typer.core.TyperCommand]:
    """Every command by its words, those of a group after the group itself."""
    found: dict[str, Any] = {}
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = found[f"{before}{name}"] = group.get_command(context, name)
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{before}{name} ")
    return found


COMMANDS = commands(typer.main.get_command(app))


def test_every_command_has_its_row_and_every_row_its_command() -> None:
    rows = table("cli", "Command", "What it does")
    assert [f"antiphon {name}" for name in COMMANDS] == [command for command, _ in rows]


def test_every_flag_has_its_row_with_the_commands_that_take_it_and_every_row_its_flag() -> None:
    taken: dict[str, list[str]] = {"--help": ["all"], "--version": ["all"]}
    for name, command in COMMANDS.items():
        for option in (opt for parameter in command.params for opt in parameter.opts if opt.startswith("-")):
            taken.setdefault(option, []).append(name)
    rows = {flag: of.replace("`", "").split(", ") for flag, of, _ in table("cli", "Flag", "Of", "What it is")}
    assert rows == taken
