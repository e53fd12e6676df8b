"""The tables of the reference pages, to be compared with the code."""

import re
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def table(page: str, *heads: str) -> list[list[str]]:
    """The rows of every table of the page with this header, backquotes around a whole cell
    removed.
    """
    header = f"| {' | '.join(heads)} |"
    rows = []
    is_in = False
    for line in (REFERENCE / f"{page}.md").read_text().splitlines():
        is_in = line == header or (is_in and line.startswith("|"))
        if is_in and line != header and set(line) - set("|-"):
            rows.append(
                [re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.split("|")[1:-1]]
            )
    assert rows, f"{page}.md has no table with the header {header}"
    return rows
