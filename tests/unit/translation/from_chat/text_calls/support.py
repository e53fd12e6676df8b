"""Reading a text in pieces, and what comes of it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.reader import Piece, TextCallReader
from tests.unit.translation.from_chat.text_calls.samples import OFFERS, Call

Found = tuple[str | Call, ...]


def joined(pieces: Iterable[Piece]) -> Found:
    """Texts that stand side by side as one, calls with their arguments as data."""
    found: list[Any] = []
    for piece in pieces:
        if isinstance(piece, TextCall):
            found.append((piece.name, json.loads(piece.arguments)))
        elif piece and found and isinstance(found[-1], str):
            found[-1] += piece
        elif piece:
            found.append(piece)
    return tuple(found)


def pieces_of(
    *parts: str,
    offers: Mapping[str, Offer] = OFFERS,
    is_answer: bool = True,
    only_marked: bool = False,
) -> list[Piece]:
    """What a reader returns of an answer that comes in these parts."""
    reader = TextCallReader(offers, only_marked=only_marked)
    pieces: list[Piece] = []
    for part in parts:
        pieces += reader.feed(part)
    return [*pieces, *reader.flush(is_answer=is_answer)]


def raw_of(*parts: str) -> str:
    """The text of an answer, calls as they were written."""
    return "".join(
        piece.raw if isinstance(piece, TextCall) else piece for piece in pieces_of(*parts)
    )


def found_in(*parts: str, **how: Any) -> Found:
    """What is found in an answer that comes in these parts."""
    return joined(pieces_of(*parts, **how))


def halves(text: str) -> Iterable[tuple[str, str]]:
    """The text in two, cut everywhere."""
    return ((text[:at], text[at:]) for at in range(len(text) + 1))
