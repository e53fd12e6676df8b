"""File search by `demo`: it searches for the user's question, and quotes the best passage with its
number.
"""

import json
import re
from collections.abc import Sequence

from antiphon.upstream.demo.checks import Fields

TOOL = "file_search"

LONGEST = 300
"""Characters of a passage that are quoted."""

ENDS = ".!?\n"
"""Characters that end a sentence."""

PASSAGE = re.compile(
    r"^\[(\d+)\] (.+)\n(?:\{.*\}\n)?((?s:.+?))(?=^\[\d+\] |^\[end of file)", re.MULTILINE
)
"""Number, name and text of a passage; its attributes are on a line between them."""


def search_for(text: str, functions: Fields) -> list[tuple[str, str]]:
    """Return the search for the last question of a text; none without a question or the tool."""
    if "queries" not in functions.get(TOOL, {}).get("properties", {}):
        return []
    question = last_question(text)
    return [(TOOL, json.dumps({"queries": [question]}, ensure_ascii=False))] if question else []


def last_question(text: str) -> str:
    """Return the last question of a text, empty if it has none; in time linear in the length of the
    text.
    """
    end = text.rfind("?")
    while end > 0 and text[end - 1].isspace():
        end = text.rfind("?", 0, end)
    begin = max(text.rfind(mark, 0, max(end, 0)) for mark in ENDS) + 1
    question = text[begin : end + 1].strip()
    return question if len(question) > 1 else ""


def quoted(outputs: Sequence[str]) -> str:
    """Return the first passage of the newest outputs as an answer that cites it; empty if no file
    was found.
    """
    found = next(filter(None, map(PASSAGE.search, outputs)), None)
    if found is None:
        return ""
    number, name, text = found.groups()
    words = " ".join(text.split())
    return f'{name} says: "{words if len(words) <= LONGEST else words[:LONGEST] + "…"}" [{number}]'
