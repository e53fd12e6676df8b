"""The output of a call for the client, and for the model: both are bounded, and neither is
trusted.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.untrusted import CODE, framed, visible
from antiphon.sandbox.contract import CodeResult, CommandResult

MOST_FOR_MODEL = 100_000
"""Characters of the output of one call that the model reads; the middle of a longer output is
omitted.
"""
MAX_DISPLAYED = 1024 * 1024
"""Characters of the output of one call that its item contains."""
MOST_FIGURES = 20
MOST_FIGURE_BYTES = 10 * 1024 * 1024
"""Bytes of all figures of one call; the others are omitted."""

MOST_NAMED = 10
"""Files that were not copied: how many of them are named to the model."""
LONGEST_DISPLAYED = 512
"""Characters of a name or path of a file that the model reads."""

HEAD = 0.6
"""The fraction of a shortened output that is from its beginning."""

_PNG = b"\x89PNG\r\n\x1a\n"

NOTHING_PRINTED = "The code ran and printed nothing."


def cut(text: str, most: int) -> str:
    """Return the text, a longer one without its middle; a line reports how much is omitted."""
    if len(text) <= most:
        return text
    head = int(most * HEAD)
    tail = most - head
    left = len(text) - most
    return f"{text[:head]}\n… {left} characters are omitted here …\n{text[len(text) - tail :]}"


def figures_of(result: CodeResult) -> list[bytes]:
    """Return the figures that are shown and stored: PNG images, as many as fit."""
    stored: list[bytes] = []
    room = MOST_FIGURE_BYTES
    for image in result.figures[:MOST_FIGURES]:
        if image.startswith(_PNG) and len(image) <= room:
            room -= len(image)
            stored.append(image)
    return stored


def outputs_of(result: CodeResult, figures: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the `outputs` of an item, in the order of a notebook: printed text, figures, the last
    value.
    """
    printed = [_logs(result.printed)] if result.printed else []
    value = [_logs(result.value)] if result.value else []
    images = [
        {"type": "image", "url": f"data:image/png;base64,{base64.b64encode(one).decode()}"}
        for one in figures
    ]
    return [*printed, *images, *value]


def _logs(text: str) -> dict[str, Any]:
    return {"type": "logs", "logs": cut(text, MAX_DISPLAYED)}


def text_of_code(result: CodeResult, notes: Sequence[str]) -> str:
    """Return the text for the model about code that ran; `notes` are sentences of this server."""
    text = "\n".join(filter(None, (result.printed.rstrip(), result.value.rstrip())))
    displayed = visible(cut(text, MOST_FOR_MODEL))
    left = len(result.figures) - len(figures_of(result))
    figures = (
        f"{left} figures are omitted: they are too many, too large, or no PNG images."
        if left
        else ""
    )
    output = framed(displayed, CODE) if displayed else ""
    if not output and result.ending == "completed":
        output = NOTHING_PRINTED
    return "\n".join(filter(None, (output, figures, *notes)))


def displayed_command(result: CommandResult) -> Mapping[str, Any]:
    """Return an entry of the `output` of a shell call."""
    outcome = (
        {"type": "exit", "exit_code": result.exit_code}
        if result.ending == "completed" and result.exit_code is not None
        else {"type": "timeout"}
        if result.ending == "timeout"
        else {"type": "exit", "exit_code": KILLED}
    )
    return {"stdout": result.stdout, "stderr": result.stderr, "outcome": outcome}


KILLED = 137
"""The exit code of a command that was ended with its machine: 128 and the signal's number, as
shells report it.
"""


def text_of_commands(results: Sequence[CommandResult], notes: Sequence[str]) -> str:
    """Return the text for the model about commands that ran."""
    most = MOST_FOR_MODEL // (2 * max(1, len(results)))
    parts = [_command(number, one, most) for number, one in enumerate(results, 1)]
    return "\n\n".join(filter(None, (*parts, "\n".join(notes))))


def _command(number: int, result: CommandResult, most: int) -> str:
    ends = {
        "completed": f"ended with exit code {result.exit_code}",
        "timeout": "was stopped at its time limit",
        "memory": "was stopped at the memory limit of the container",
        "lost": "was ended with its container",
    }
    lines = [f"Command {number} {ends[result.ending]}."]
    for name, text in (("Standard output", result.stdout), ("Standard error", result.stderr)):
        if displayed := visible(cut(text, most)).rstrip():
            lines += [f"{name}:", framed(displayed, CODE)]
    return "\n".join(lines)


def notes_of_files(files: Sequence[CreatedFile], left_out: Sequence[str]) -> list[str]:
    """Return the sentences that name new and changed files, and those that could not be stored."""
    figures = [one for one in files if one.is_figure]
    others = [one for one in files if not one.is_figure]
    notes = []
    if figures:
        notes.append(f"Figures that the user sees: {_paths(figures)}.")
    if others:
        notes.append(f"New and changed files: {_paths(others)}.")
    return [*notes, *left_out]


def notes_of_inputs(paths: Sequence[str], left_out: Sequence[tuple[str, str]]) -> list[str]:
    """Return the sentences that name the files of messages in the container, and those that are not
    in it.
    """
    notes = (
        [f"Files of the user in the container: {', '.join(map(_displayed, paths))}."]
        if paths
        else []
    )
    notes += [
        f"The user's file {_displayed(name)} was not copied: {why}"
        for name, why in left_out[:MOST_NAMED]
    ]
    if len(left_out) > MOST_NAMED:
        notes.append(f"{len(left_out) - MOST_NAMED} more files of the user were not copied.")
    return notes


def _paths(files: Iterable[CreatedFile]) -> str:
    return ", ".join(_displayed(one.path) for one in files)


def _displayed(name: str) -> str:
    return " ".join(visible(name).split())[:LONGEST_DISPLAYED]
