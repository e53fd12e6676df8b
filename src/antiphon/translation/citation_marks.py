"""The marks by which a model cites in a text: numbers in brackets, links, ids of files."""

import re
from dataclasses import dataclass, field
from typing import Literal

LONGEST = 2_000
"""Characters of a citation; a bracket that stays open for longer opens none."""
DEEPEST = 8
"""Brackets and code spans that can be open at once; beyond that, the outermost opens nothing."""

RUN = 64
"""Backquotes of one mark; more are several marks."""

FILE_MARK = re.compile(r"<\|(file-[A-Za-z0-9_-]{1,64})\|>")
MARK = re.compile(
    rf"\\[^\n]|`{{1,{RUN}}}|~{{3,{RUN}}}|[\[\]()【】\n]|https?://|<\|file-[A-Za-z0-9_-]{{1,64}}\|>"
)
FENCE_MARK = re.compile(rf"`{{3,{RUN}}}|~{{3,{RUN}}}|\n")
_FILE_CUT = r"<(?:\|(?:f(?:i(?:l(?:e(?:-[A-Za-z0-9_-]{0,64}\|?)?)?)?)?)?)?"
_URL_CUT = r"h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?"
_CUT = rf"(?P<cut>(?:\\|`{{1,{RUN - 1}}}|~{{1,{RUN - 1}}}|{_URL_CUT}|{_FILE_CUT})\Z)|"
"""An end of the text that further characters can turn into something else."""
MARK_OR_CUT, FENCE_MARK_OR_CUT = (re.compile(_CUT + mark.pattern) for mark in (MARK, FENCE_MARK))
LINK = re.compile(r"\s*<?(https?://[^\s<>]+)>?(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*")
NUMBERS = {
    "[": re.compile(r"\s*\d{1,4}(?:\s*[,;\u3001\uff0c]\s*\d{1,4})*\s*"),
    # Models of the gpt-oss family write line numbers after a dagger.
    "【": re.compile(r"\s*\d{1,4}(?:\s*[,;\u3001\uff0c]\s*\d{1,4})*\s*(?:†[^】]*)?"),
}
LONGEST_NUMBERS = 64
_BEGIN = r"\s*(?:\d{1,4}(?:\s*[,;\u3001\uff0c]\s*\d{1,4})*\s*(?:[,;\u3001\uff0c]\s*)?)?"
NUMBERS_BEGIN = {"[": re.compile(_BEGIN), "【": re.compile(_BEGIN + "(?:†[^】]*)?")}
"""Texts that further characters can turn into such numbers."""
CLOSED_BY = {"]": "[", "】": "【"}
LINE_BEGIN = " \t\r>-*+0123456789."
"""What can precede a fence on its line: marks of quotes and lists."""

Kind = Literal["[", "【", "(", "`"]


@dataclass(frozen=True, slots=True)
class FoundCitation:
    """A citation at this position in the text.

    `sources` are positions, from 0, in the order of the citable sources.
    """

    start: int
    end: int
    sources: tuple[int, ...]


@dataclass(slots=True)
class Frame:
    """An open construct: the text of a link, its destination `(`, a code span."""

    kind: Kind
    start: int
    inner: int
    """Where its content begins."""
    retained: list[FoundCitation] = field(default_factory=list)
    """Citations that count only if the frame comes to nothing."""
    depth: int = 0
    """The number of parentheses in a destination, or of backquotes of a code span."""
