"""Splits a text into chunks of a bounded number of tokens, in one pass.

A chunk consists of whole units: several lines of at least 64 characters together; sentences of
lines that are too long; halves of sentences that are too long, split at whitespace if possible. The
units at the end of a chunk begin the next one, as far as the overlap allows.

Tokens are estimated: a character of Chinese, Japanese or Korean is one, and otherwise four bytes of
UTF-8 are one. Exact vocabularies differ between embedding models, and would have to be downloaded.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

FEWEST_TOKENS, MOST_TOKENS = 100, 4096
"""Limits of a chunk's size; the overlap is at most half of it."""

LARGE = 128 * 1024
"""Characters of a text above which splitting takes some milliseconds: use a thread
(`sharing/offload.py`).
"""

_QUARTERS = 4
"""Costs are counted in quarters of a token, so that they add up without rounding."""

_SHORTEST = 64
"""Minimum characters of a unit of lines: texts of tiny lines would have millions of units."""

_PARTS = 4
"""A unit is at most one over this number of a chunk, so that an overlap finds units that fit."""

_CJK = re.compile(
    "[\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
# It begins only at the first mark of a run, without backtracking: a line of dots must not
# take quadratic time.
_SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+\s++|[。！？；]+[”’」』）]*|\n+"  # noqa: RUF001 - fullwidth on purpose
)

_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One part of a text. `tokens` is the estimate of its size."""

    position: int
    text: str
    tokens: int


def chunks_of(text: str, most_tokens: int = 800, overlap_tokens: int = 400) -> Iterator[Chunk]:
    """Split a text into chunks of at most `most_tokens`; neighbors share at most `overlap_tokens`.

    Blank parts are omitted. Raises `ValueError` if the limits are not those of the API.
    """
    if not FEWEST_TOKENS <= most_tokens <= MOST_TOKENS:
        raise ValueError(f"most_tokens must be at least {FEWEST_TOKENS} and at most {MOST_TOKENS}")
    if not 0 <= overlap_tokens <= most_tokens // 2:
        raise ValueError("overlap_tokens must be at least 0 and at most half of most_tokens")
    return _chunks(text, most_tokens * _QUARTERS, overlap_tokens * _QUARTERS)


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text.

    Threads can run between its parts: one expression that searches 20 MB holds Python's lock for
    most of a second.
    """
    if len(text) <= LARGE:
        return -(-_cost(text) // _QUARTERS)
    return -(
        -sum(_cost(text[start : start + LARGE]) for start in range(0, len(text), LARGE))
        // _QUARTERS
    )


def pieces_of(text: str, most_tokens: int) -> list[str]:
    """Split a text into parts of at most `most_tokens` (at least 1) that share nothing.

    Blank parts are omitted.
    """
    return [chunk.text for chunk in _chunks(text, most_tokens * _QUARTERS, 0)]


def _chunks(text: str, most: int, overlap: int) -> Iterator[Chunk]:
    retained: deque[tuple[str, int]] = deque()
    size = fresh = position = 0  # `fresh` counts the units that are in no chunk yet
    for unit, cost in _units(text, most // _PARTS):
        if size + cost > most:
            if chunk := _chunk(retained, size, position):
                yield chunk
                position += 1
            fresh = 0
            while retained and (size > overlap or size + cost > most):
                size -= retained.popleft()[1]
        retained.append((unit, cost))
        size += cost
        fresh += 1
    if fresh and (chunk := _chunk(retained, size, position)):
        yield chunk


def _chunk(units: deque[tuple[str, int]], size: int, position: int) -> Chunk | None:
    text = "".join(unit for unit, _ in units)
    return None if text.isspace() or not text else Chunk(position, text, -(-size // _QUARTERS))


def _units(text: str, most: int) -> Iterator[tuple[str, int]]:
    """Yield the parts of a text with their costs, each of at most `most`."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _SHORTEST - 1) + 1 or len(text)
        # An endless line is examined in pieces: no single call must hold Python's lock for long.
        end = min(end, start + LARGE)
        yield from _fitting(text[start:end], most)
        start = end


def _fitting(lines: str, most: int) -> Iterator[tuple[str, int]]:
    """Yield several lines as one unit, or their sentences, or the halves of these."""
    cost = _cost(lines)
    if cost <= most:
        yield lines, cost
        return
    start = 0
    for found in _SENTENCE_END.finditer(lines):
        yield from _halves(lines[start : found.end()], most)
        start = found.end()
    if start < len(lines):
        yield from _halves(lines[start:], most)


def _halves(text: str, most: int) -> Iterator[tuple[str, int]]:
    waiting = [text]
    while waiting:
        part = waiting.pop()
        cost = _cost(part)
        if cost <= most or len(part) < 2:
            yield part, cost
        else:
            middle = _middle(part)
            waiting += [part[middle:], part[:middle]]


def _middle(text: str) -> int:
    """Return where to split a text: after whitespace in its second quarter, else between two whole
    characters.
    """
    half = len(text) // 2
    if blank := text.rfind(" ", len(text) // 4, half) + 1:
        return blank
    middle = half
    while middle > half // 2 and _belongs_together(text, middle):
        middle -= 1
    return middle if middle > half // 2 else half


def _belongs_together(text: str, place: int) -> bool:
    """Whether a split here would separate an accent, or a part of an emoji, from its character."""
    before = text[place - 1]
    behind = text[place]
    return _JOINER in (before, behind) or unicodedata.category(behind).startswith("M")


def _cost(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = "".join(_CJK.findall(text))
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if not wide else size - len(wide.encode()) + _QUARTERS * len(wide)
