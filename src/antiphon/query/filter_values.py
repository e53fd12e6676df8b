"""Reads the values of filters: texts, numbers, properties and ids."""

import re
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from antiphon.ids import response_id_of
from antiphon.query.conditions import AnyOf, Between, Chain, Condition, Either, Flag, HasItem
from antiphon.query.ids import kind_of, prefix_of

MOST_VALUES = 32
"""Values of one filter."""

LARGEST = 2**62
"""The largest number that is compared: databases have integers of 64 bits."""

STATUSES = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")

_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([A-Za-z]*)"
_COMPARISON = re.compile(rf"(>=|<=|>|<|=){_NUMBER}")
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}")


class InvalidValueError(ValueError):
    """A value is not valid; the text says why, if the valid forms do not."""


class TextValue(Struct, frozen=True):
    """One of several texts; `""` is the empty text."""

    field: str

    def __call__(self, value: str) -> Condition:
        """Return the condition. Raises `InvalidValueError`."""
        values = _values(value) if value else ("",)
        if any("*" in one[:-1] for one in values):
            raise InvalidValueError("a '*' can only be at the end")
        return AnyOf(self.field, values)


class NumberValue(Struct, frozen=True):
    """A comparison or a range; `units` has the size of each unit."""

    field: str
    units: Mapping[str, Decimal | int]

    def __call__(self, value: str) -> Condition:
        """Return the condition. Raises `InvalidValueError`."""
        if found := _RANGE.fullmatch(value):
            low, high = self._number(found[1], found[2]), self._number(found[3], found[4])
            if low > high:
                raise InvalidValueError("the range ends before it begins")
            return Between(self.field, low, high)
        if found := _COMPARISON.fullmatch(value):
            number = self._number(found[2], found[3])
            match found[1]:
                case ">":
                    return Between(self.field, low=number + 1)
                case ">=":
                    return Between(self.field, low=number)
                case "<":
                    return Between(self.field, high=number - 1)
                case "<=":
                    return Between(self.field, high=number)
                case _:
                    return Between(self.field, number, number)
        raise InvalidValueError

    def _number(self, digits: str, unit: str) -> int:
        if unit not in self.units:
            raise InvalidValueError
        return min(round(Decimal(digits) * self.units[unit]), LARGEST)


def status(value: str) -> Condition:
    """Return the condition. Raises `InvalidValueError` for an unknown status."""
    values = _values(value)
    if unknown := [one for one in values if one not in STATUSES]:
        raise InvalidValueError(f"no response has the status '{unknown[0]}'")
    return AnyOf("status", values)


class YesOrNo(Struct, frozen=True):
    """A property."""

    field: str

    def __call__(self, value: str) -> Condition:
        """Return the condition. Raises `InvalidValueError`."""
        if value not in {"yes", "no"}:
            raise InvalidValueError
        return Flag(self.field, value == "yes")


def chain(value: str) -> Condition:
    """Return the condition of a chain that ends with a response."""
    return Chain(value)


def object_id(value: str) -> Condition:
    """Return the condition of one or several ids.

    Raises `InvalidValueError` for the id of an object that no response has.
    """
    found = tuple([_of_id(one) for one in _values(value)])
    return found[0] if len(found) == 1 else Either(found)


def _of_id(value: str) -> Condition:
    match kind_of(value):
        case "response" if prefix_of(value) == "req":
            return AnyOf("id", (response_id_of(value),))
        case "response":
            return AnyOf("id", (value,))
        case "conversation":
            return AnyOf("conversation", (value,))
        case "item":
            return HasItem(value)
        case kind:
            named = kind.replace("_", " ")
            raise InvalidValueError(f"it is the ID of a {named}, and this list has responses")


def _values(value: str) -> tuple[str, ...]:
    values = tuple([one for one in value.split(",") if one])
    if not 0 < len(values) <= MOST_VALUES:
        raise InvalidValueError
    return values
