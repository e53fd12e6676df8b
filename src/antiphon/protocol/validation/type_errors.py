"""Describes exactly what is wrong with plain data that does not match a type.

The types themselves say what to look for: `msgspec.convert` decides whether the data matches, and
if it does not, the walk below finds the first error, in the order and the words of the API
(specification section 13): in an object first missing fields, then unknown ones, then field by
field.
"""

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import KNOWN_ITEMS, Message
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.refusals import below, json_type

KNOWN_TYPES: dict[type, Mapping[str, tuple[str, ...]]] = {
    Message: KNOWN_ITEMS,
}
"""The `type`s that the API has in addition to the first one that this server supports there, each
with its requirement.
"""


def check_fields(cls: type[Struct], value: dict[str, Any], path: str = "") -> None:
    """Raise the `ClientError` for the first error that prevents `value` from being a `cls`; return
    if there is no error.
    """
    fields = _fields(cls)
    for name, field in fields.items():
        if field.required and name not in value:
            raise refusals.missing(below(path, name))
    config = cls.__struct_config__
    if config.forbid_unknown_fields:
        for name in value:
            if name not in fields and name != config.tag_field:
                raise unknown_field(cls, name, path)
    for name, field in fields.items():
        if name in value:
            field.shape.check(value[name], below(path, name))


def unknown_field(cls: type[Struct], name: str, path: str = "") -> ClientError:
    """Return the error for a field that `cls` does not have."""
    intended = nearest(name, _fields(cls))
    return refusals.unknown(below(path, name), below(path, intended) if intended else None)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the first of `names` at the smallest edit distance from `name`, at most 2; None if all
    are further.
    """
    near = [
        (distance, other)
        for other in names
        if (distance := _edits(name, other)) < min(3, len(name))
    ]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _edits(a: str, b: str) -> int:
    """Count the insertions, deletions and replacements from `a` to `b`; 3 means any number above
    2.
    """
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        previous = row
        row = [i]
        for j, right in enumerate(b, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (left != right)))
    return min(row[-1], 3)


class Rule(Protocol):
    """The conditions on a value of one JSON type.

    `noun` is the name of such a value in messages.
    """

    @property
    def noun(self) -> str: ...

    def check(self, value: Any, path: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Simple:
    """Any value of the JSON type is valid."""

    noun: str

    def check(self, value: Any, path: str) -> None:
        """No further condition."""


@dataclass(frozen=True, slots=True)
class TextRule:
    """A string of a certain length, or format."""

    bounds: Meta
    noun: str = "string"

    def check(self, value: str, path: str) -> None:
        if not value and self.bounds.min_length:
            raise refusals.empty(path, "string")
        if self.bounds.max_length is not None and len(value) > self.bounds.max_length:
            raise refusals.too_long(path, "string", self.bounds.max_length, len(value))
        if self.bounds.pattern is not None and not re.search(self.bounds.pattern, value):
            if self.bounds.extra is not None:  # the pattern has the exceptions from a length
                raise refusals.too_long(path, "string", self.bounds.extra["max_length"], len(value))
            raise refusals.no_match(path, value, self.bounds.pattern, self.bounds.title)


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """One of a few strings."""

    values: tuple[str, ...]
    noun: str = "string"

    def check(self, value: str, path: str) -> None:
        if value not in self.values:
            raise refusals.invalid_value(path, value, self.values)


@dataclass(frozen=True, slots=True)
class Number:
    """A number between its bounds."""

    bounds: Meta
    noun: str

    def check(self, value: float, path: str) -> None:
        lowest = self.bounds.ge
        highest = self.bounds.le
        if lowest is not None and value < lowest:
            raise refusals.number_out_of_range(path, self.noun, "below", lowest, value)
        if highest is not None and value > highest:
            raise refusals.number_out_of_range(path, self.noun, "above", highest, value)


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values with one rule."""

    of: "ValueShape"
    bounds: Meta

    @property
    def noun(self) -> str:
        members = {rule.noun for rule in self.of.rules.values()}
        return self.bounds.title or (f"array of {members.pop()}s" if len(members) == 1 else "array")

    def check(self, value: list[Any], path: str) -> None:
        if not value and self.bounds.min_length:
            raise refusals.empty(path, "array")
        if self.bounds.max_length is not None and len(value) > self.bounds.max_length:
            raise refusals.too_long(path, "array", self.bounds.max_length, len(value))
        for i, member in enumerate(value):
            self.of.check(member, f"{path}[{i}]")


@dataclass(frozen=True, slots=True)
class Map:
    """An object with keys of the client's own."""

    keys: TextRule
    values: "ValueShape"
    bounds: Meta
    noun: str = "object"

    def check(self, value: dict[str, Any], path: str) -> None:
        if self.bounds.max_length is not None and len(value) > self.bounds.max_length:
            raise refusals.too_many_properties(path, self.bounds.max_length, len(value))
        for key, member in value.items():
            self.keys.check(key, path)
            self.values.check(member, below(path, key))


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with known fields; if it can be one of several, its `type` says which."""

    classes: tuple[type[Struct], ...]
    noun: str = "object"

    def check(self, value: dict[str, Any], path: str) -> None:
        check_fields(self._class_of(value, path), value, path)

    def _class_of(self, value: dict[str, Any], path: str) -> type[Struct]:
        first = self.classes[0]
        tag_field = first.__struct_config__.tag_field
        # A single class needs no tag to distinguish it: msgspec accepts it without one,
        # and so does the walk.
        if tag_field is None or (len(self.classes) == 1 and tag_field not in value):
            return first
        by_tag = {str(cls.__struct_config__.tag): cls for cls in self.classes}
        tag = value.get(tag_field)
        place = below(path, tag_field)
        if tag is None:
            raise refusals.missing(place)
        if type(tag) is not str:
            raise refusals.invalid_type(place, ["string"], tag)
        if tag in by_tag:
            return by_tag[tag]
        required = KNOWN_TYPES.get(first, {}).get(tag)
        if required is None:
            raise refusals.invalid_value(place, tag, by_tag)
        for name in required:
            if name not in value:
                raise refusals.missing(below(path, name))
        raise refusals.unsupported_value(place, tag, by_tag)


@dataclass(frozen=True, slots=True)
class ValueShape:
    """The valid values in one position: a rule for each valid JSON type; `anything` if all are
    valid.
    """

    rules: Mapping[str, Rule]
    anything: bool = False

    def check(self, value: Any, path: str) -> None:
        """Raise `ClientError` if the value is not valid there."""
        if self.anything:
            return
        rule = self.rules.get(json_type(value))
        if rule is not None:
            rule.check(value, path)
        elif self.rules.keys() == {"null"}:
            raise refusals.unsupported(path)
        else:
            nouns = [rule.noun for kind, rule in self.rules.items() if kind != "null"]
            raise refusals.invalid_type(path, dict.fromkeys(nouns), value)


@dataclass(frozen=True, slots=True)
class _Field:
    shape: ValueShape
    required: bool


@cache
def _fields(cls: type[Struct]) -> dict[str, _Field]:
    """Return the fields of a struct by their names on the wire, in the order of their
    declaration.
    """
    return {
        field.encode_name: _Field(_shape(field.type), field.required)
        for field in msgspec.structs.fields(cls)
    }


def _shape(type_: Any) -> ValueShape:
    rules: dict[str, Rule] = {}
    for member, bounds in _members(type_, Meta()):
        if member is Any:
            return ValueShape({}, anything=True)
        for kind, rule in _rules(member, bounds):
            known = rules.get(kind)
            if isinstance(known, Fields) and isinstance(rule, Fields):
                rule = replace(known, classes=known.classes + rule.classes)
            rules[kind] = rule
    return ValueShape(rules)


def _members(type_: Any, bounds: Meta) -> Iterator[tuple[Any, Meta]]:
    """Split a type into the members of its union, each with its own bounds."""
    origin = get_origin(type_)
    if origin is Annotated:
        inner, meta = get_args(type_)
        yield from _members(inner, meta)
    elif origin in (Union, types.UnionType):
        for member in get_args(type_):
            yield from _members(member, bounds)
    else:
        yield type_, bounds


def _rules(type_: Any, bounds: Meta) -> Iterator[tuple[str, Rule]]:
    """Yield the JSON types of the values that this type accepts, with the rule for each."""
    args = get_args(type_)
    match get_origin(type_) or type_:
        case t if t is str:
            yield "string", TextRule(bounds)
        case t if t is int:
            yield "integer", Number(bounds, "integer")
        case t if t is float:
            yield "decimal number", Number(bounds, "decimal")
            yield "integer", Number(bounds, "decimal")
        case t if t is bool:
            yield "boolean", Simple("boolean")
        case t if t is types.NoneType:
            yield "null", Simple("null")
        case t if t is Literal:
            yield "string", ChoiceRule(args)
        case t if t is list:
            yield "array", Array(_shape(args[0]), bounds)
        case t if t is dict:
            ((_, keys),) = _members(args[0], Meta())
            yield "object", Map(TextRule(keys), _shape(args[1]), bounds)
        case t if t is not UnsetType:
            yield "object", Fields((t,))
