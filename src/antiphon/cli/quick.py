"""Reads the flags of `antiphon serve` without Typer, which with its dependencies costs a server 13
MB and 0.2 s.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("not a number")
    return int(text)


FLAGS: Mapping[str, Callable[[str], Any]] = {
    "host": str,
    "port": _number,
    "backend": str,
    "store": str,
    "workers": _number,
    "agents": str,
    "config": Path,
}
"""The type of each flag. `cli/serving.py` has their help, and a test compares the two."""

REPEATABLE = {"backend"}


def serve_flags(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the flags of a command line that starts the server.

    Returns None for command lines that Typer reads: another command, a request for help, or a
    mistake.
    """
    if not arguments or arguments[0] != "serve":
        return None
    flags: dict[str, Any] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        flag, separator, value = argument.partition("=")
        if not separator:
            value = next(rest, "")
        name = flag.removeprefix("--")
        if not flag.startswith("--") or name not in FLAGS or not value or value.startswith("-"):
            return None
        try:
            read = FLAGS[name](value)
        except ValueError:
            return None
        flags[name] = [*flags.get(name, []), read] if name in REPEATABLE else read
    return flags
