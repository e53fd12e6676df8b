"""The filters of lists of responses: one line such as `status:failed -model:qwen3* took:>10s
"lighthouse"`.

A filter is `name:value`. Several values of one filter are separated by commas, and any of them can
match. All filters must match, and so must all separate words: each is searched in the input and in
the output, case-insensitively. `-` before a term negates it, and `OR` between terms lets any of
them match; it binds tighter than the space. A value or word in double quotes can contain spaces and
colons. The id of an object is a filter, too.

What is none of these is an error that names the term and the valid forms, never a word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import get_args

from msgspec import Struct

from antiphon.query.conditions import Condition, Either, Filters, Not, Sort, Tag, Word
from antiphon.query.filter_times import AGES, read_time
from antiphon.query.filter_values import (
    MOST_VALUES,
    STATUSES,
    InvalidValueError,
    NumberValue,
    TextValue,
    YesOrNo,
    chain,
    object_id,
    status,
)
from antiphon.query.ids import is_id

MOST = 4_096
"""Characters of a line."""

MOST_TERMS = 32
"""Filters and words of a line."""

SORTS: tuple[Sort, ...] = get_args(Sort)

DURATIONS: Mapping[str, Decimal | int] = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
COUNTS: Mapping[str, Decimal | int] = {"": 1, "k": 1_000, "M": 1_000_000}
AMOUNTS: Mapping[str, Decimal | int] = {"": 1_000_000_000}

_TERM = re.compile(r'(-?)(?:([^\s:"]+):)?("[^"]*"|[^\s"]*)')


class FilterError(ValueError):
    """A line is not a valid filter; the text names the term, and what is valid."""


class FilterForm(Struct, frozen=True):
    """One filter: its valid forms in words, values to suggest, and how its value is read."""

    forms: str
    read: Callable[[str], Condition] | None = None
    """None for a filter of the whole line: a time or the order."""
    values: Sequence[str] = ()
    takes_several: bool = False
    """Whether several values can be separated by commas."""


def _texts(*names: str) -> dict[str, FilterForm]:
    return {
        name: FilterForm(
            f"{name}:VALUE, {name}:VALUE,OTHER or {name}:BEGINNING* (at most {MOST_VALUES} values)",
            TextValue(name),
            takes_several=True,
        )
        for name in names
    }


def _flags(*names: str) -> dict[str, FilterForm]:
    return {
        name: FilterForm(f"{name}:yes or {name}:no", YesOrNo(name), ("yes", "no")) for name in names
    }


def _durations(*names: str) -> dict[str, FilterForm]:
    return {
        name: FilterForm(
            f"{name}:>10s, {name}:<=250ms or {name}:1s..2m (units: {', '.join(DURATIONS)})",
            NumberValue(name, DURATIONS),
            (">1s", ">10s", ">1m"),
        )
        for name in names
    }


def _times(*names: str) -> dict[str, FilterForm]:
    return {
        name: FilterForm(
            f"how long ago, such as {name}:1h (units: {', '.join(AGES)}), or a time such as "
            f"{name}:2026-11-22T12:00, which is in UTC unless it ends with an offset such as "
            "+01:00",
            values=("15m", "1h", "24h", "7d"),
        )
        for name in names
    }


FILTERS: Mapping[str, FilterForm] = dict(
    sorted(
        {
            **_texts("backend", "conversation", "error", "key", "model", "served", "tenant"),
            **_texts("tool"),
            **_flags("background", "cached", "stored", "stream", "websocket"),
            **_durations("first", "took"),
            **_times("since", "until"),
            "status": FilterForm(
                f"status:failed or status:failed,incomplete (values: {', '.join(STATUSES)})",
                status,
                STATUSES,
                takes_several=True,
            ),
            "tokens": FilterForm(
                "tokens:>20k, tokens:<=500 or tokens:1k..2M (units: k, M)",
                NumberValue("tokens", COUNTS),
                (">10k", ">100k"),
            ),
            "cost": FilterForm(
                "cost:>0.01, cost:<=1.5 or cost:0.01..0.5, in the currency of the server",
                NumberValue("cost", AMOUNTS),
                (">0.01", ">0.1", ">1"),
            ),
            "chain": FilterForm("chain:resp_…, the ID of a response", chain),
            "id": FilterForm(
                "id:resp_… or another ID: of a request (req_…), a conversation (conv_…), an item "
                "(msg_…, fc_… and so on) or a call (call_…)",
                object_id,
                takes_several=True,
            ),
            "metadata.NAME": FilterForm("metadata.NAME:VALUE"),
            "sort": FilterForm(" or ".join(f"sort:{one}" for one in SORTS), values=SORTS),
        }.items()
    )
)
"""All filters: the one place that says which there are, and what is valid."""

NAMES = list(FILTERS)


class _Term(Struct, frozen=True):
    """One term of a line; `name` is empty for a word."""

    text: str
    name: str
    value: str
    is_negated: bool
    is_quoted: bool

    @property
    def is_or(self) -> bool:
        return self.text == "OR"

    @property
    def is_blank(self) -> bool:
        """Whether it is a quoted word without characters, which is ignored."""
        return self.is_quoted and not self.name and not self.value.strip()


def parse_filters(line: str, now: float) -> Filters:
    """Return the filters of a line; `now` is the time (seconds since the epoch) from which
    `since:1h` counts back.

    Raises `FilterError`, which names the term that is wrong and what is valid.
    """
    if len(line) > MOST:
        raise FilterError(f"The filter has {len(line):,} characters. At most {MOST:,} are allowed.")
    if "\0" in line:
        raise FilterError("The filter has the character NUL, which no response has.")
    terms = _terms(line)
    count = sum(not one.is_or for one in terms)
    if count > MOST_TERMS:
        raise FilterError(f"There are {count} filters and words. At most {MOST_TERMS} are allowed.")
    conditions: list[Condition] = []
    times: dict[str, list[int]] = {"since": [], "until": []}
    sorts: list[Sort] = []
    for group in _groups(terms):
        (first, *_) = group
        if first.name in times and len(group) == 1:
            times[first.name].append(_time(first, now))
        elif first.name == "sort" and len(group) == 1:
            sorts.append(_sort(first))
        else:
            found = [_condition(one) for one in group]
            conditions.append(found[0] if len(found) == 1 else Either(tuple(found)))
    if len(sorts) > 1:
        raise FilterError("A line can have one order: write one of " + FILTERS["sort"].forms + ".")
    return Filters(
        tuple(conditions),
        max(times["since"], default=None),
        min(times["until"], default=None),
        sorts[0] if sorts else "newest",
    )


def _terms(line: str) -> list[_Term]:
    terms = []
    place = 0
    while place < len(line):
        if line[place].isspace():
            place += 1
            continue
        found = _TERM.match(line, place)
        if found is None or found.end() == place:
            raise FilterError('A double quote has no end: write "two words" for two words.')
        sign, name, value = found[1], found[2] or "", found[3]
        is_quoted = value.startswith('"')
        text = found[0]
        terms.append(_Term(text, name, value[1:-1] if is_quoted else value, sign == "-", is_quoted))
        place = found.end()
    return [one for one in terms if not one.is_blank]


def _groups(terms: Sequence[_Term]) -> list[list[_Term]]:
    """Return the terms, those with `OR` between them together."""
    groups: list[list[_Term]] = []
    joins = False
    for one in terms:
        if one.is_or:
            if joins or not groups:
                raise _misplaced_or()
            joins = True
        elif joins:
            groups[-1].append(one)
            joins = False
        else:
            groups.append([one])
    if joins:
        raise _misplaced_or()
    return groups


def _misplaced_or() -> FilterError:
    return FilterError(
        "'OR' needs a filter or word on both sides: write status:failed OR took:>10s. "
        'To search for the word, write "OR" in double quotes.'
    )


def _condition(term: _Term) -> Condition:
    if term.name:
        found = _of_name(term)
    elif term.is_quoted:
        found = Word(term.value.lower())
    elif is_id(term.value):
        found = _read(object_id, term, FILTERS["id"])
    else:
        found = _word(term)
    return Not(found) if term.is_negated else found


def _word(term: _Term) -> Condition:
    """Return the condition of a word. Raises `FilterError` for what looks like something else."""
    value = term.value
    if not value or value.startswith("-"):
        raise FilterError(
            f"'{term.text}' negates nothing: write -status:failed or -word. "
            'To search for a hyphen, write "-" in double quotes.'
        )
    if value.startswith("(") or (value.endswith(")") and "(" not in value):
        raise FilterError(
            f"'{term.text}' has a parenthesis, and terms cannot be grouped: 'OR' binds tighter "
            "than the space, so a OR b c means that a or b matches, and c. "
            f'To search for it, write "{value}" in double quotes.'
        )
    if ":" in value:
        raise _unknown(term)
    return Word(value.lower())


def _of_name(term: _Term) -> Condition:
    if term.name.startswith("metadata.") and term.name != "metadata.":
        if not (term.value or term.is_quoted):
            raise _invalid(term, FILTERS["metadata.NAME"])
        return Tag(term.name.removeprefix("metadata."), term.value)
    form = FILTERS.get(term.name)
    if form is None:
        raise _unknown(term)
    if form.read is None:
        raise FilterError(
            f"'{term.text}' holds for the whole line: it cannot be negated or joined with OR. "
            f"Write it alone: {form.forms}."
        )
    return _read(form.read, term, form)


def _read(read: Callable[[str], Condition], term: _Term, form: FilterForm) -> Condition:
    if not (term.value or term.is_quoted):
        raise _invalid(term, form)
    try:
        return read(term.value)
    except InvalidValueError as why:
        raise _invalid(term, form, str(why)) from None


def _time(term: _Term, now: float) -> int:
    """Return a time in milliseconds since the epoch."""
    found = None if term.is_negated else read_time(term.value, now)
    if found is None:
        raise _invalid(term, FILTERS[term.name])
    return found


def _sort(term: _Term) -> Sort:
    if term.is_negated or term.value not in SORTS:
        raise _invalid(term, FILTERS["sort"])
    return term.value


def _invalid(term: _Term, form: FilterForm, why: str = "") -> FilterError:
    reason = f": {why}" if why else ""
    return FilterError(f"'{term.text}' is not a valid filter{reason}. Write {form.forms}.")


def _unknown(term: _Term) -> FilterError:
    text = term.text.removeprefix("-")
    return FilterError(
        f"Unknown filter '{term.name}'. The filters are: {', '.join(NAMES)}. "
        f'To search for text with a colon, write "{text}" in double quotes.'
    )
