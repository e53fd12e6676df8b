"""The code blocks of a page, with what the page says about running them.

A comment in the line before a block, which readers of the page do not see, may say:

| Comment | Meaning |
|---|---|
| `<!-- run: COMMANDS -->` | commands that are run here and not shown: they prepare the blocks after them |
| `<!-- file: NAME -->` | the block is the content of this file in the folder of the page |
| `<!-- output -->` | the block is the output of the block before it; `...` matches anything |
| `<!-- exit: 1 -->` | the block ends with this exit code |
| `<!-- not run: REASON -->` | the block cannot run here |
| `<!-- checked by: PATH -->` | a test of its own runs or reads this block |
"""  # noqa: E501 - a table, a diagram or an example

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("*.md", "reports/*.md", "verify/*.md", "docs/**/*.md")

GENERATED = {"docs/reference/server-comparison.md", "docs/reference/requirements.md"}
"""Pages of which a test compares every line with the program that writes them."""

PAGES = [
    page
    for page in sorted(path for pattern in FOLDERS for path in ROOT.glob(pattern))
    if "_build" not in page.parts and str(page.relative_to(ROOT)) not in GENERATED
]

MARKS = ("run", "file", "output", "exit", "not run", "checked by")
PART = re.compile(
    r"^[ ]*<!--[ ]*(?P<mark>run|file|output|exit|not run|checked by)(?::(?P<value>.*?))?[ ]*-->[ "
    r"]*$"
    r"|^(?P<indent>[ ]*)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)[ ]*$",  # noqa: E501 - one text, or a row of a table
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A fenced block: its language, its text, the line of its fence, and the comments before it."""

    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)


def blocks(page: str) -> Iterator[Block]:
    """Each block of a page, and for each `run` comment a block of the language `run`.

    Raises `ValueError`.
    """
    marks: dict[str, str] = {}
    for part in PART.finditer(page):
        line = page.count("\n", 0, part.start()) + 1
        if part["mark"] == "run":
            yield Block("run", part["value"].strip(), line)
        elif part["mark"]:
            marks[part["mark"]] = (part["value"] or "").strip()
        else:
            yield Block(
                part["info"].strip().split(" ")[0],
                _dedented(part["body"], len(part["indent"])),
                line,
                marks,
            )
            marks = {}
    if marks:
        raise ValueError(f"no block comes after {marks}")


def _dedented(text: str, columns: int) -> str:
    return "".join(
        line[columns:] if line.strip() else line for line in text.splitlines(keepends=True)
    )


def matches(expected: str, actual: str) -> bool:
    """Whether output is as a page shows it: equal but for spaces at line ends, where `...` matches
    anything.
    """
    parts = [re.escape(part) for part in _trimmed(expected).split("...")]
    return re.fullmatch(".*".join(parts), _trimmed(actual), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
