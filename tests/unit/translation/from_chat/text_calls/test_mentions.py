"""10,000 texts that quote calls of tools that are offered: none of them is one."""

import random

import pytest

from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.reader import TextCallReader
from tests.unit.translation.from_chat.text_calls.samples import OFFERS, SAMPLES
from tests.unit.translation.from_chat.text_calls.support import pieces_of

COUNT = 10_000

CALLS = [
    piece.raw
    for each in SAMPLES
    for piece in pieces_of(each.text)
    if isinstance(piece, TextCall) and piece.raw
]
"""Calls as models write them, each of which is found where it is one."""

WORDS = (
    *(
        "The server parses it.",
        "Nothing else is needed.",
        "Compare the two!",
        "It is `code`, or *not*.",
        "Is that all?",
    ),
    *(
        "1. First",
        "- Then",
        "## Formats",
        "| a | b |\n|---|---|",
        "<br>",
        "Ein Satz über Werkzeuge.",
        "模型调用工具。",
    ),
)
BEFORE = (
    "A model writes",
    "See",
    "In short,",
    "- **Format:**",
    "| Qwen |",
    "> As in",
    "Formats such as",
    "1.",
    "It's",
)
BEHIND = (
    "for a call.",
    "and waits.",
    "| yes |",
    "(see above)",
    "is what comes back.",
    "— always.",
    "then stops",
)
LANGUAGES = ("", "xml", "json", "text", "python", "html", "jinja")


def one_line(call: str) -> str:
    return " ".join(call.split())


def fenced(dice: random.Random, call: str) -> str:
    longest = max((len(run) for run in _runs(call)), default=0)
    fence = dice.choice("`~") * max(3, longest + 1)
    return f"{fence}{dice.choice(LANGUAGES)}\n{call}\n{fence}"


def _runs(text: str) -> list[str]:
    return "".join(each if each in "`~" else " " for each in text).split()


def inline(dice: random.Random, call: str) -> str:
    ticks = "`" * (max((len(run) for run in _runs(one_line(call))), default=0) + 1)
    return f"{dice.choice(BEFORE)} {ticks}{one_line(call)}{ticks} {dice.choice(BEHIND)}"


def prose(dice: random.Random, call: str) -> str:
    return f"{dice.choice(BEFORE)} {one_line(call)} {dice.choice(BEHIND)}"


def ending(dice: random.Random, call: str) -> str:
    return f"{dice.choice(BEFORE)} {one_line(call)}"


def opening(dice: random.Random, call: str) -> str:
    return f"{one_line(call)} {dice.choice(BEHIND)}"


def quoted(dice: random.Random, call: str) -> str:
    return "\n".join(f"> {line}" for line in call.splitlines())


def indented(dice: random.Random, call: str) -> str:
    indent = dice.choice(("    ", "\t", "      "))
    return "\n".join(f"{indent}{line}" for line in call.splitlines())


def foreign(dice: random.Random, call: str) -> str:
    for name in sorted(OFFERS, key=len, reverse=True):
        call = call.replace(name, "remove_all")
    return call.replace("```", "")


def torn(dice: random.Random, call: str) -> str:
    """The first half of a call, and then a sentence: the name and what follows it are missing."""
    call = call.replace("```", "")
    names = [call.index(name) for name in OFFERS if name in call]
    return f"{call[: min(names)]}…\nThe name follows there."


WAYS = (fenced, inline, prose, ending, opening, quoted, indented, foreign, torn)


def document(dice: random.Random) -> str:
    """A text that says something, quotes calls, and says something again."""
    parts = [dice.choice(WORDS)]
    for _ in range(dice.randint(1, 3)):
        parts += [dice.choice(WAYS)(dice, dice.choice(CALLS)), dice.choice(WORDS)]
    return dice.choice(("\n\n", "\n")).join(parts)


@pytest.mark.wide
def test_no_text_that_quotes_calls_is_taken_for_one() -> None:
    dice = random.Random("mentions")
    for _ in range(COUNT):
        text = document(dice)
        cuts = sorted(dice.randrange(len(text)) for _ in range(3))
        reader = TextCallReader(OFFERS)
        pieces = [
            piece
            for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
            for piece in reader.feed(text[start:end])
        ]
        pieces += reader.flush(is_answer=True)
        assert [piece for piece in pieces if isinstance(piece, TextCall)] == [], text
        assert "".join(map(str, pieces)) == text
