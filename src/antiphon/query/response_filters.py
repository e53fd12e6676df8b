"""The filters of lists of responses: one line such as `status:failed model:qwen3* took:>10s
"lighthouse"`.

A filter is `name:value`. Several values of one filter are separated by commas, and any of them can
match. All filters must match, and so must all separate words: each is searched in the input and in
the output, case-insensitively. A value or word in double quotes can contain spaces and colons.
"""

import re
from calendar import monthrange, timegm
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast

from msgspec import Struct

STATUSES = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")
FLAGS = ("background", "cached", "stored", "stream", "websocket")
NUMBERS = ("first", "tokens", "took")
TEXTS = ("backend", "conversation", "error", "key", "model", "served", "tool")

NAMES = sorted([*FLAGS, *NUMBERS, *TEXTS, "chain", "metadata.NAME", "since", "status", "until"])
"""All filters."""

MOST = 4_096
"""Characters of a line."""

MOST_TERMS = 32
"""Filters and words of a line, and values of a filter."""

Comparison = Literal[">", ">=", "<", "<=", "="]

_TERM = re.compile(r'(?:([A-Za-z_]+(?:\.[^\s:"]+)?):)?("[^"]*"|[^\s"]+)')
_COMPARISON = re.compile(r"(>=|<=|>|<|=)([0-9]{1,12}(?:\.[0-9]{1,6})?)([A-Za-z]*)")
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?"
)
_AGO = re.compile(r"([0-9]{1,6})([smhdw])")

SECONDS: Mapping[str, float] = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600}
AGES: Mapping[str, int] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
COUNTS: Mapping[str, float] = {"": 1, "k": 1_000, "M": 1_000_000}


class FilterError(ValueError):
    """A line is not a valid filter; the text says why, and what is valid."""


class AnyOf(Struct, frozen=True):
    """A field has one of these texts.

    One that ends with `*` matches every text with this prefix.
    """

    field: str
    values: Sequence[str]


class Compare(Struct, frozen=True):
    """A number compares like this: `first` and `took` in milliseconds, `tokens` in and out
    together.
    """

    field: str
    operator: Comparison
    value: int


class Flag(Struct, frozen=True):
    """A property is present, or not."""

    field: str
    value: bool


class Tag(Struct, frozen=True):
    """The metadata has this pair."""

    name: str
    value: str


class Chain(Struct, frozen=True):
    """The response is this one, or precedes it in its chain."""

    response_id: str


Condition = AnyOf | Compare | Flag | Tag | Chain


class Filters(Struct, frozen=True):
    """The content of a line: all conditions, all words, and when the response began (milliseconds,
    `until` excluded).

    Words are in lower case.
    """

    conditions: Sequence[Condition] = ()
    words: Sequence[str] = ()
    since: int | None = None
    until: int | None = None

    @property
    def comparisons(self) -> int:
        """How many texts one response is compared with."""
        texts = (
            len(one.values) if isinstance(one, AnyOf) else isinstance(one, Tag)
            for one in self.conditions
        )
        return len(self.words) + sum(texts)

    @property
    def is_empty(self) -> bool:
        """Whether everything matches."""
        return not (self.conditions or self.words) and self.since is None and self.until is None


def parse_filters(line: str, now: float) -> Filters:
    """Return the filters of a line; `now` is the time (seconds since the epoch) from which
    `since:1h` counts back.

    Raises `FilterError`, which names the filter that is wrong and what is valid.
    """
    if len(line) > MOST:
        raise FilterError(f"The filter has {len(line):,} characters. At most {MOST:,} are allowed.")
    if "\0" in line:
        raise FilterError("The filter has the character NUL, which no response has.")
    terms = _terms(line)
    if len(terms) > MOST_TERMS:
        raise FilterError(
            f"There are {len(terms)} filters and words. At most {MOST_TERMS} are allowed."
        )
    conditions: list[Condition] = []
    words: list[str] = []
    since: int | None = None
    until: int | None = None
    for name, value in terms:
        if not name:
            words += [value.lower()] if value.strip() else []
        elif name == "since":
            since = max(_time(name, value, now), since or 0)
        elif name == "until":
            until = min(_time(name, value, now), until or 2**62)
        else:
            conditions.append(_condition(name, value))
    return Filters(tuple(conditions), tuple(words), since, until)


def _terms(line: str) -> list[tuple[str, str]]:
    """Return the names, empty for words, and the values of a line."""
    terms = []
    place = 0
    while place < len(line):
        if line[place].isspace():
            place += 1
            continue
        found = _TERM.match(line, place)
        if found is None:
            raise FilterError('A double quote has no end: write "two words" for two words.')
        value = found[2]
        terms.append((found[1] or "", value[1:-1] if value[0] == '"' else value))
        place = found.end()
    return terms


def _condition(name: str, value: str) -> Condition:
    if name.startswith("metadata."):
        return Tag(name.removeprefix("metadata."), value)
    read = READERS.get(name)
    if read is None:
        raise FilterError(
            f"Unknown filter '{name}'. The filters are: {', '.join(NAMES)}. "
            f'To search for text with a colon, write "{name}:{value}" in double quotes.'
        )
    return read(name, value)


def _any_of(name: str, value: str) -> AnyOf:
    values = tuple([one for one in value.split(",") if one])
    if not values or len(values) > MOST_TERMS:
        raise FilterError(f"'{name}' needs 1 to {MOST_TERMS} values, separated by commas.")
    return AnyOf(name, values)


def _status(name: str, value: str) -> AnyOf:
    found = _any_of(name, value)
    if unknown := [one for one in found.values if one not in STATUSES]:
        raise FilterError(
            f"'{name}' cannot be '{unknown[0]}'. Valid values are: {', '.join(STATUSES)}."
        )
    return found


def _flag(name: str, value: str) -> Flag:
    if value not in {"yes", "no"}:
        raise FilterError(f"'{name}' cannot be '{value}'. Valid values are: yes, no.")
    return Flag(name, value == "yes")


def _compare(name: str, value: str) -> Compare:
    units = COUNTS if name == "tokens" else SECONDS
    found = _COMPARISON.fullmatch(value)
    if found is None or found[3] not in units:
        example = "tokens:>20k" if name == "tokens" else f"{name}:>10s"
        known = ", ".join(unit for unit in units if unit)
        raise FilterError(
            f"'{name}' cannot be '{value}'. Write a comparison such as {example}; "
            f"units are {known}."
        )
    factor = units[found[3]] * (1 if name == "tokens" else 1_000)
    return Compare(name, cast("Comparison", found[1]), round(float(found[2]) * factor))


def _chain(name: str, value: str) -> Chain:
    return Chain(value)


def _time(name: str, value: str, now: float) -> int:
    """Return a time in milliseconds since the epoch."""
    if ago := _AGO.fullmatch(value):
        return int((now - int(ago[1]) * AGES[ago[2]]) * 1000)
    found = _TIME.fullmatch(value)
    seconds = None if found is None else _seconds(*[int(part or 0) for part in found.groups()[:6]])
    if found is None or seconds is None:
        raise FilterError(
            f"'{name}' cannot be '{value}'. Write how long ago, such as {name}:1h "
            f"({', '.join(AGES)}), or a time such as {name}:2026-11-22T12:00 (UTC unless it "
            "has an offset)."
        )
    sign, hours, minutes = found.groups()[6:]
    offset = 0 if sign is None else int(f"{sign}1") * (int(hours) * 3_600 + int(minutes) * 60)
    return (seconds - offset) * 1000


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return seconds since the epoch; None if there is no such time."""
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return timegm((year, month, day, hour, minute, second))


READERS: Mapping[str, Callable[[str, str], Condition]] = {
    **dict.fromkeys(TEXTS, _any_of),
    **dict.fromkeys(FLAGS, _flag),
    **dict.fromkeys(NUMBERS, _compare),
    "status": _status,
    "chain": _chain,
}
"""The function that reads the value of a filter."""
