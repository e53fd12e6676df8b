"""The terms of a text, for every language: for the keyword index, and for lookups of a query.

- Texts are compared without case, accents, Arabic vowel signs and compatibility forms (`ﬁ` is
  `fi`).
- A word of Chinese, Japanese or Korean has no spaces around it: each pair of neighboring characters
  is a term, and in the index each character too, so that a query of one character finds something.
- An identifier in camel case counts as a whole and by its parts; an underscore separates words.

The rules use fixed ranges and no data that a newer Python changes for existing characters: SQLite's
index removes a row only with the same terms with which the row was added.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

LONGEST = 64
"""Characters of a term; the rest of a longer one, such as base64, is cut off."""

_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+"
)
_STROKES = str.maketrans("łøđħŧ", "lodht")
"""Letters that Unicode does not treat as a letter with an accent."""
_WORD = re.compile(r"[^\W_]+")
_CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # noqa: E501 - one text, or a row of a table
_RUN = re.compile(f"[{_CJK}]+|[^{_CJK}]+")
_HAS_CJK = re.compile(f"[{_CJK}]")
_LATIN = re.compile(r"[A-Za-z0-9]+")
_HAS_HUMP = re.compile("[a-z][A-Z]")
"""The parts of an identifier in camel case. One pattern for the whole of it takes quadratic
time.
"""
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def terms_of(text: str, *, is_query: bool = False) -> list[str]:
    """Return the terms of a text, in order, as often as each occurs; for a query, the fewest that
    find it.
    """
    parts = []
    if _HAS_HUMP.search(text):
        camels = filter(_HAS_HUMP.search, _LATIN.findall(text))
        parts = [hump.lower() for word in camels for hump in _HUMP.findall(word)]
    folded = _folded(text)
    words: list[str] = _WORD.findall(folded)
    if _HAS_CJK.search(folded):
        words = [term for word in words for term in _terms_of_word(word, is_query)]
    if any(len(word) > LONGEST for word in words):
        words = [word[:LONGEST] for word in words]
    return words + parts


def counter_of(terms: Sequence[str]) -> Callable[[str], list[int]]:
    """Return a function that counts how often a text has each of these terms, as `terms_of` would
    find them.

    It searches only for these terms, so it needs a tenth of the time.
    """

    def count(text: str) -> list[int]:
        if _HAS_HUMP.search(text):
            found = Counter(terms_of(text))
            return [found[term] for term in terms]
        folded = _folded(text)
        return [_occurrences(folded, term) for term in terms]

    return count


def _occurrences(folded: str, term: str) -> int:
    """Count a term if it is a separate word; Chinese characters are words everywhere."""
    stands_anywhere = bool(_HAS_CJK.match(term))
    count = 0
    start = folded.find(term)
    while start >= 0:
        end = start + len(term)
        if stands_anywhere or not (
            (start and _goes_on(folded[start - 1]))
            or (end < len(folded) and len(term) < LONGEST and _goes_on(folded[end]))
        ):
            count += 1
        start = folded.find(term, start + 1)
    return count


def _goes_on(character: str) -> bool:
    """Whether a character belongs to the word next to it."""
    return character.isalnum() and not _HAS_CJK.match(character)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    # Some letters of formulas have a case after normalization to plain letters.
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return unicodedata.normalize("NFC", plain.translate(_STROKES))


def _terms_of_word(word: str, is_query: bool) -> Iterator[str]:
    for run in _RUN.findall(word):
        if not _HAS_CJK.match(run):
            yield run
            continue
        if len(run) == 1 or not is_query:
            yield from run
        yield from map("".join, pairwise(run))
