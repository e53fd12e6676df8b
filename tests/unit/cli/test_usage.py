"""The help of every command, and the errors of wrong command lines, in plain words."""

import re
from typing import Any

import pytest
import typer
import typer.main

from antiphon.cli.main import app
from antiphon.cli.usage import usage_message
from tests.support.cases import each
from tests.unit.reference.test_cli_page import COMMANDS

ROOT: Any = typer.main.get_command(app)
HELPED = {"": ROOT, **COMMANDS}


def help_of(name: str) -> str:
    """The help of a command, at the width of the smallest terminal."""
    command = HELPED[name]
    with typer.Context(command, info_name=f"antiphon {name}".strip(), terminal_width=80) as context:
        return str(command.get_help(context))


def wrong(*arguments: str) -> str:
    """The error of a wrong command line."""
    with pytest.raises(typer.TyperException) as caught:
        ROOT(list(arguments), standalone_mode=False, prog_name="antiphon")
    return usage_message(caught.value)


@each("name", HELPED)
def test_the_help_of_every_command_is_plain(name: str) -> None:
    displayed = help_of(name)

    assert not re.search(r"[<{]\w|<=|\[\[|\[required\]", displayed), "the parser's notation"
    assert "..." not in re.sub(
        r"\[ARGS\.*\]\.*|(?:REPORT\.json|PATH|FILE_ID|CONTAINER_ID)\.\.\.", "", displayed
    ), "a sentence that is cut off"


@each("name", HELPED)
def test_every_help_text_is_a_sentence_and_every_value_has_a_name(name: str) -> None:
    command = HELPED[name]

    prose, _, examples = command.help.partition("\n\n\b\nExamples:\n")
    assert re.fullmatch(r"[A-Z].*\.", prose, re.DOTALL)
    assert all(re.match(r"  antiphon \w", line) for line in examples.splitlines())
    for parameter in command.params:
        assert re.fullmatch(r"[A-Z].*\.", parameter.help or "", re.DOTALL), parameter.name
        is_flag = parameter.param_type_name == "option" and parameter.is_flag
        assert is_flag or re.fullmatch(
            r"\[?[A-Z_|=]+(?:\.json)?\]?(?:\.\.\.)?", parameter.metavar
        ), parameter.name


WRONG = {
    ("srve",): "Unknown command 'srve'. Did you mean 'serve'?",
    ("models", "prob", "m"): "Unknown command 'prob'. Did you mean 'probe'?",
    ("nothing",): "Unknown command 'nothing'. `antiphon --help` shows the usage.",
    ("serve", "--prot", "1"): "Unknown option --prot. Did you mean '--port'?",
    ("keys", "create", "--tennant", "a"): "Unknown option --tennant. Did you mean '--tenant'?",
    ("keys",): "`antiphon keys` requires a command: ",
    ("ask",): "The argument TEXT is missing. `antiphon ask --help` shows the usage.",
    ("keys", "create", "--role", "x"): (
        "--role must be one of 'use', 'read', 'admin'. `antiphon keys create --help` "
        "shows the usage."
    ),
    (
        "serve",
        "--port",
        "x",
    ): "--port must be a whole number. `antiphon serve --help` shows the usage.",
    ("serve", "--port"): "The option --port requires a value.",
    ("serve", "now"): "Unexpected argument 'now' of `antiphon serve`. ",
    ("keys", "create", "--concurrency", "0"): "--concurrency must be at least 1. ",
    ("keys", "rotate", "key_x", "--keep-old", "721"): "--keep-old must be at most 720. ",
    ("verify", "--timeout", "x"): "--timeout must be a number. ",
    ("demo-backend", "--port", "99999"): "--port must be at most 65535. ",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_wrong_command_line_has_a_suggestion_or_the_place_of_the_help(
    arguments: tuple[str, ...],
) -> None:
    assert wrong(*arguments).startswith(WRONG[arguments])
    assert "Input should" not in wrong(*arguments)
