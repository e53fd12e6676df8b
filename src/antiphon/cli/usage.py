"""Errors and help of the command line in plain words instead of the parser's notation."""

import re
from typing import Any

import typer
import typer.core

from antiphon.cli.error_output import did_you_mean

_PLAIN = (
    (re.compile(r"Input should be a valid integer.*"), "must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "must be a number"),
    (re.compile(r"Input should be a valid boolean.*"), "must be true or false"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"must be at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"must be at most \1"),
    (re.compile(r"Input should be greater than (\S+)"), r"must be above \1"),
    (re.compile(r"Input should be less than (\S+)"), r"must be below \1"),
    (re.compile(r".* is not (?:one of )?('.*')\."), r"must be one of \1"),
)
"""Messages of the validator of values, and their replacements, which follow the name of a flag."""

_RANGE = re.compile(r"(?:; )?(?:[\d.]+<=?)?x(?:[<>]=?[\d.]+)?(?=\])")
"""The parser's notation for a range of numbers, after a default or alone."""

EXAMPLES = "\n\nExamples:\n"
"""The start of the examples in the docstring of a command. They are the last paragraph."""


class BadValue(typer.BadParameter):
    """A value that one of our parsers rejects: the message follows the name of the flag, without a
    full stop.
    """


def usage_message(error: typer.TyperException) -> str:
    """Return the mistake in a command line, with a suggestion or the command that shows the
    help.
    """
    context: Any = getattr(error, "ctx", None)
    text, hint = _reported(error, context)
    if not hint and context is not None:
        hint = f" `{context.command_path} --help` shows the usage."
    return f"{text}{hint}"


def _reported(error: Any, context: Any) -> tuple[str, str]:
    message = str(getattr(error, "message", error))
    if hasattr(error, "possibilities"):
        return f"Unknown option {error.option_name}.", _intended_option(error, context)
    parameter = getattr(error, "param", None)
    if parameter is not None:
        name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[-1]
        if not message:
            return f"The {parameter.param_type_name} {name or parameter.name} is missing.", ""
        words = message if isinstance(error, BadValue) else _plainly(message)
        return f"{name or parameter.name} {words}.", ""
    if needs := re.fullmatch(r"Option '(.*)' requires an argument\.", message):
        return f"The option {needs[1]} requires a value.", ""
    if message == "Missing command.":
        names = ", ".join(context.command.list_commands(context))
        return f"`{context.command_path}` requires a command: {names}.", ""
    if unknown := re.match(r"No such command '(.*?)'", message):
        names = context.command.list_commands(context)
        return f"Unknown command '{unknown[1]}'.", did_you_mean(unknown[1], names)
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message):
        return f"Unexpected argument '{extra[1]}' of `{context.command_path}`.", ""
    return message, ""


def _intended_option(error: Any, context: Any) -> str:
    options = (
        [name for one in context.command.get_params(context) for name in one.opts]
        if context
        else []
    )
    return did_you_mean(error.option_name, options or error.possibilities or ())


def _plainly(message: str) -> str:
    for pattern, words in _PLAIN:
        if pattern.fullmatch(message):
            return pattern.sub(words, message)
    return "has an invalid value"


def make_plain(command: Any) -> None:
    """Make the help of a command and its subcommands plain: names of values in capitals, and
    examples on own lines.
    """
    if command.help:
        command.help = command.help.replace(EXAMPLES, EXAMPLES.replace("Examples", "\b\nExamples"))
    for parameter in command.params:
        _make_plain(parameter)
    for one in getattr(command, "commands", {}).values():
        make_plain(one)


def _make_plain(parameter: Any) -> None:
    name = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        displayed = name.strip("[]")
        usage = (
            f"{displayed}..."
            if parameter.nargs != 1 and not displayed.endswith("...")
            else displayed
        )
        pieces = [usage if parameter.required else f"[{usage}]"]
        parameter.get_usage_pieces = lambda context: pieces
        parameter.get_help_record = lambda context: (displayed, parameter.help or "")
        return
    if not parameter.is_flag:
        parameter.metavar = name
    original = parameter.get_help_record

    def record(context: Any) -> tuple[str, str] | None:
        found = original(context)
        return found and (found[0], _RANGE.sub("", found[1]).replace("  []", "").strip())

    parameter.get_help_record = record
