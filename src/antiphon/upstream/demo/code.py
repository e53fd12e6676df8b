"""Code execution by `demo`: it runs the Python of the user's message, reports the output, and links
to new files.
"""

import json
import re
from collections.abc import Iterator, Sequence

from antiphon.upstream.demo.checks import Fields

TOOL = "python"
"""The names that models use for the code interpreter."""

PROGRAM = re.compile(r"^```python *\n((?s:.*?))^```|^Run: *(.+)$", re.MULTILINE)
OPENING = "[code output "
FILES = "New and changed files: "


def code_for(text: str, functions: Fields) -> list[tuple[str, str]]:
    """Return a call for each program in a text: a block of Python, or a line that begins with
    `Run:`.
    """
    if "code" not in functions.get(TOOL, {}).get("properties", {}):
        return []
    programs = ("".join(found) for found in PROGRAM.findall(text))
    return [(TOOL, json.dumps({"code": one.strip()}, ensure_ascii=False)) for one in programs]


def reported(outputs: Sequence[str]) -> str:
    """Return an answer that reports the output of code and links to the files that it created;
    empty without either.
    """
    printed = [f"The code printed: {one}" for one in filter(None, map(_printed, outputs))]
    links = [f"[{path.rpartition('/')[2]}](sandbox:{path})" for path in _paths(outputs)]
    created = [f"It made {' and '.join(links)}."] if links else []
    return "\n\n".join([*printed, *created])


def _printed(output: str) -> str:
    """Return the text between the marks of an output."""
    mark, _, text = output.partition(OPENING)[2].partition("]\n")
    return text.partition(f"\n[end of code output {mark}]")[0] if mark else ""


def _paths(outputs: Sequence[str]) -> Iterator[str]:
    for output in outputs:
        line = output.partition(FILES)[2].partition("\n")[0]
        yield from filter(None, line.removesuffix(".").split(", "))
