"""The work of one call in a machine: Python code, or shell commands."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from antiphon.sandbox.contract import NOTHING, CommandResult, Ending, Machine, Spent
from antiphon.tools.code.output import (
    MAX_DISPLAYED,
    displayed_command,
    figures_of,
    outputs_of,
    text_of_code,
    text_of_commands,
)

LONGEST_CODE = 1024 * 1024
"""Characters of the code, or of all commands, of one call."""
MOST_COMMANDS = 50


class InvalidArgumentsError(Exception):
    """The model's arguments are invalid. The message is for the model."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a call."""

    ending: Ending
    fields: Mapping[str, Any]
    """The fields of the item."""
    text: Callable[[Sequence[str]], str]
    """Builds the text for the model, from the notes of this server."""
    figures: Sequence[bytes] = ()
    spent: Spent = NOTHING


class Work(Protocol):
    """Something to run in a machine."""

    @property
    def nothing(self) -> Mapping[str, Any]:
        """The fields of the item of a call that did not run."""
        ...

    @property
    def needs_variables(self) -> bool:
        """Whether the model must be notified that variables are lost."""
        ...

    async def run(self, machine: Machine, seconds: float) -> Done:
        """Run it for at most `seconds`. Raises `SandboxError`."""
        ...


@dataclass(frozen=True, slots=True)
class Code:
    """Python code."""

    code: str
    nothing: Mapping[str, Any]
    needs_variables: bool = True

    async def run(self, machine: Machine, seconds: float) -> Done:
        """See `Work.run`."""
        result = await machine.run_code(self.code, seconds)
        figures = figures_of(result)
        text = partial(text_of_code, result)
        fields = {"outputs": outputs_of(result, figures)}
        return Done(result.ending, fields, text, figures, result.spent)


@dataclass(frozen=True, slots=True)
class ShellCommands:
    """Shell commands, run one after the other."""

    commands: Sequence[str]
    seconds: float | None
    """Seconds that the model allows for each."""
    output: int
    """Characters of each stream that the model requests."""
    nothing: Mapping[str, Any]
    needs_variables: bool = False

    async def run(self, machine: Machine, seconds: float) -> Done:
        """See `Work.run`. All commands together have at most `seconds`; after that no command is
        started.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        results = list[CommandResult]()
        for command in self.commands:
            left = until - loop.time()
            if left <= 0:
                results.append(CommandResult(exit_code=None, ending="timeout"))
                continue
            allowed = left if self.seconds is None else min(left, self.seconds)
            results.append(await machine.run_command(command, allowed, self.output))
            if results[-1].ending in ("memory", "lost"):
                break
        last = results[-1].ending
        return Done(
            last if last in ("memory", "lost") else "completed",
            {"output": [*map(displayed_command, results)]},
            partial(text_of_commands, results),
            spent=sum((one.spent for one in results), NOTHING),
        )


def work_of(name: str, arguments: Mapping[str, Any]) -> Work:
    """Return the work that the model requests. Raises `InvalidArgumentsError`."""
    return _commands(arguments) if name == "shell" else _code(arguments)


def nothing_of(name: str) -> Mapping[str, Any]:
    """Return the fields of the item of a call that did not run."""
    return {"output": []} if name == "shell" else {"outputs": []}


def _code(arguments: Mapping[str, Any]) -> Code:
    code = arguments.get("code")
    if not isinstance(code, str):
        raise InvalidArgumentsError("`code_interpreter` needs `code`, a text.")
    _check_length(len(code))
    return Code(code, nothing_of("code_interpreter"))


def _commands(arguments: Mapping[str, Any]) -> ShellCommands:
    provided = arguments.get("commands")
    commands = [provided] if isinstance(provided, str) else provided
    if (
        not isinstance(commands, list)
        or not commands
        or not all(isinstance(one, str) for one in commands)
    ):
        raise InvalidArgumentsError("`shell` needs `commands`, a list of texts.")
    if len(commands) > MOST_COMMANDS:
        raise InvalidArgumentsError(f"`shell` runs at most {MOST_COMMANDS} commands in one call.")
    if any("\0" in one for one in commands):
        raise InvalidArgumentsError("A command of `shell` has a NUL character.")
    _check_length(sum(map(len, commands)))
    milliseconds = _number(arguments.get("timeout_ms"))
    output = _number(arguments.get("max_output_length"))
    most = MAX_DISPLAYED // (2 * len(commands))
    return ShellCommands(
        commands,
        milliseconds / 1000 if milliseconds else None,
        min(most, int(output)) if output else most,
        nothing_of("shell"),
    )


def _number(value: Any) -> float | None:
    return (
        value
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        else None
    )


def _check_length(length: int) -> None:
    if length > LONGEST_CODE:
        raise InvalidArgumentsError(
            f"The call has {length} characters, and at most {LONGEST_CODE} are accepted. Write "
            "data to a file instead."
        )
