"""Attributes of files and filters on them: decoded, validated, and matched in Python.

This is the reference for the meaning of a filter; `storage/operations/chunk_filters.py` has the
SQL. A file without the key matches only `ne` and `nin`. So does a value of another type. Booleans
are not numbers and have no order. Texts are ordered by code point. `and` of nothing is true, `or`
of nothing is false.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Literal, cast

from antiphon.protocol.validation import refusals

AttributeValue = str | float | bool

MOST_KEYS = 16
LONGEST_KEY = 64
LONGEST_TEXT = 512
"""Limits of attributes: keys of a file, and characters of a key and of a text."""

MOST_DEPTH = 8
MOST_FILTERS = 64
MOST_VALUES = 256
"""Limits of a filter: levels, total filters, and values of one `in` or `nin`."""

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
OPERATORS: tuple[Operator, ...] = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
COMPOUNDS: tuple[Literal["and", "or"], ...] = ("and", "or")

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares one attribute with a value; `in` and `nin` with each of a tuple of values."""

    operator: Operator
    key: str
    value: AttributeValue | tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """All of several filters, or any of them."""

    operator: Literal["and", "or"]
    filters: "tuple[Filter, ...]"


Filter = Comparison | Compound


def kind_of(value: AttributeValue) -> str:
    """Return the type that decides whether two values can be compared: `text`, `number` or
    `flag`.
    """
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number"


def matches(wanted: Filter | None, attributes: Mapping[str, AttributeValue]) -> bool:
    """Whether a file with these attributes passes; without a filter every file does."""
    if wanted is None:
        return True
    if isinstance(wanted, Compound):
        found = (matches(one, attributes) for one in wanted.filters)
        return all(found) if wanted.operator == "and" else any(found)
    return _compares(wanted, attributes.get(wanted.key))


def _compares(wanted: Comparison, value: AttributeValue | None) -> bool:
    values = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    if wanted.operator in ("eq", "in"):
        return any(_is_same(value, one) for one in values)
    if wanted.operator in ("ne", "nin"):
        return not any(_is_same(value, one) for one in values)
    (bound,) = values
    if value is None or kind_of(value) != kind_of(bound) or kind_of(bound) == "flag":
        return False
    return _ORDERS[wanted.operator](_plain(value), _plain(bound))


def _is_same(value: AttributeValue | None, other: AttributeValue) -> bool:
    return value is not None and kind_of(value) == kind_of(other) and _plain(value) == _plain(other)


def _plain(value: AttributeValue) -> AttributeValue:
    """Return a value as databases store it: a number is a double."""
    return value if isinstance(value, str | bool) else float(value)


def read_filter(value: Any, path: str) -> Filter | None:
    """Return the filter of decoded JSON, None for null.

    Raises `ClientError` (400) with the path.
    """
    return None if value is None else _Reader().read(value, path, 1)


def read_attributes(value: Any, path: str) -> Mapping[str, AttributeValue]:
    """Return the attributes of decoded JSON; empty for null.

    Raises `ClientError` (400) with their path.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refusals.invalid_type(path, ["object"], value)
    if len(value) > MOST_KEYS:
        raise refusals.too_many_properties(path, MOST_KEYS, len(value))
    for key, one in value.items():
        _check_key(key, path)
        _check_value(one, refusals.below(path, key))
    return cast("Mapping[str, AttributeValue]", value)


class _Reader:
    """Parses one filter and counts its parts."""

    def __init__(self) -> None:
        self._count = 0

    def read(self, value: Any, path: str, depth: int) -> Filter:
        if not isinstance(value, dict):
            raise refusals.invalid_type(path, ["object"], value)
        self._count += 1
        if self._count > MOST_FILTERS:
            raise refusals.invalid(
                path, f"too many filters. Expected at most {MOST_FILTERS} of them."
            )
        if depth > MOST_DEPTH:
            raise refusals.too_deep(path, MOST_DEPTH)
        kind = _text_of(value, "type", path)
        if kind in COMPOUNDS:
            parts = _list_of(value, "filters", path)
            inside = f"{path}.filters"
            read = tuple(self.read(one, f"{inside}[{i}]", depth + 1) for i, one in enumerate(parts))
            return Compound(kind, read)
        if kind not in OPERATORS:
            raise refusals.invalid_value(f"{path}.type", kind, (*OPERATORS, *COMPOUNDS))
        return _comparison(value, kind, path)


def _comparison(value: dict[str, Any], operator: Operator, path: str) -> Comparison:
    key = _text_of(value, "key", path)
    _check_key(key, f"{path}.key")
    if operator not in ("in", "nin"):
        if "value" not in value:
            raise refusals.missing(f"{path}.value")
        _check_value(value["value"], f"{path}.value")
        return Comparison(operator, key, value["value"])
    values = _list_of(value, "value", path)
    if len(values) > MOST_VALUES:
        raise refusals.too_long(f"{path}.value", "array", MOST_VALUES, len(values))
    for i, one in enumerate(values):
        _check_value(one, f"{path}.value[{i}]")
    return Comparison(operator, key, tuple(values))


def _text_of(value: dict[str, Any], name: str, path: str) -> str:
    if name not in value:
        raise refusals.missing(f"{path}.{name}")
    found = value[name]
    if not isinstance(found, str):
        raise refusals.invalid_type(f"{path}.{name}", ["string"], found)
    return found


def _list_of(value: dict[str, Any], name: str, path: str) -> list[Any]:
    if name not in value:
        raise refusals.missing(f"{path}.{name}")
    found = value[name]
    if not isinstance(found, list):
        raise refusals.invalid_type(f"{path}.{name}", ["array"], found)
    return found


def _check_key(key: str, path: str) -> None:
    if not key:
        raise refusals.empty(path, "string")
    _check_text(key, path, LONGEST_KEY)


def _check_value(value: Any, path: str) -> None:
    if isinstance(value, str):
        _check_text(value, path, LONGEST_TEXT)
    elif not isinstance(value, bool | int | float):
        raise refusals.invalid_type(path, ["string", "number", "boolean"], value)
    elif not _is_double(value):
        raise refusals.invalid(path, "expected a number that fits into 64 bits.")


def _check_text(text: str, path: str, longest: int) -> None:
    if len(text) > longest:
        raise refusals.too_long(path, "string", longest, len(text))
    if "\0" in text:
        raise refusals.invalid(path, "expected a string without the character U+0000.")


def _is_double(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
