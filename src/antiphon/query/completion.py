"""Completes the term of a line of filters that someone types."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from antiphon.query.response_filters import FILTERS

MOST_SUGGESTED = 20

WITHOUT_NEGATION = frozenset(name for name, form in FILTERS.items() if form.read is None)

_TERM = re.compile(r'(-?)(?:([^\s:"]+):)?(.*)', re.DOTALL)

Suggestion = tuple[str, int | None]
"""A term, and how many responses have it; None if that was not counted."""


class TermPrefix(Struct, frozen=True):
    """A term without its end."""

    sign: str
    name: str
    """The filter, empty while it is typed."""
    complete: str
    """The values before the last comma, and that comma, without double quotes."""
    beginning: str
    """The beginning of a name or of the last value, in lower case."""


def read_prefix(term: str) -> TermPrefix:
    """Split a term that someone types."""
    found = _TERM.fullmatch(term)
    sign, name, value = found.groups() if found else ("", "", term)
    complete, comma, last = value.replace('"', "").rpartition(",")
    return TermPrefix(sign, name or "", complete + comma, last.lower())


def names(prefix: TermPrefix) -> list[Suggestion]:
    """Return the names of filters that begin like this."""
    known = [name.removesuffix("NAME") for name in FILTERS]
    found: list[Suggestion] = [
        (f"{prefix.sign}{name}{'' if name.endswith('.') else ':'}", None)
        for name in known
        if name.startswith(prefix.beginning) and not (prefix.sign and name in WITHOUT_NEGATION)
    ]
    return found[:MOST_SUGGESTED]


def values(prefix: TermPrefix, counts: Mapping[str, int]) -> list[Suggestion]:
    """Return the values of a filter that have this beginning, those of most responses first.

    `counts` has the values of recent responses.
    """
    form = FILTERS.get(prefix.name)
    if form is None or (prefix.complete and not form.takes_several):
        return []
    known: dict[str, int | None] = dict.fromkeys(form.values)
    known |= counts
    found = [
        (value, count)
        for value, count in known.items()
        if prefix.beginning in value.lower() and _can_be_written(value)
    ]
    start = f"{prefix.sign}{prefix.name}:"
    found.sort(key=lambda one: _order(prefix, one))
    return [
        (start + _written(prefix.complete + value), count)
        for value, count in found[:MOST_SUGGESTED]
    ]


def _order(prefix: TermPrefix, suggestion: Suggestion) -> tuple[bool, int]:
    """Return the place of a value: those that begin like this come first."""
    value, count = suggestion
    return not value.lower().startswith(prefix.beginning), -(count or 0)


def _can_be_written(value: str) -> bool:
    """Whether a filter can have exactly this value."""
    return bool(value) and not any(char in value for char in '",*\0')


def _written(value: str) -> str:
    """Return the whole value of a filter: one pair of double quotes is around all its values."""
    return f'"{value}"' if any(char.isspace() for char in value) else value


def counted_words(counts: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return the counts of the words of these texts, which are separated by spaces."""
    total: dict[str, int] = {}
    for text, count in counts:
        for word in text.split():
            total[word] = total.get(word, 0) + count
    return total
