"""JSON Schema: whether a value fits, and one schema for two.

`pattern` and `format`, `if`, `patternProperties`, `contains` and `unevaluated…` are not looked at. A keyword whose own
value makes no sense says nothing.
"""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeGuard
from urllib.parse import unquote

Schema = dict[str, Any]

MOST_LOOKS = 20_000
"""Looks at subschemas that an example may cost: schemas that refer to themselves can grow without end."""

MOST_PAIRS = 100
"""Alternatives that two lists may give together."""


class Checker:
    """Whether values fit the subschemas of `root`."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._looks = 0

    def spend(self) -> None:
        """Count a look at a subschema. Raises `RecursionError` for one too many."""
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise RecursionError

    def fits(self, value: Any, schema: Any) -> bool:
        """Whether a value fits a subschema."""
        self.spend()
        if not isinstance(schema, dict):
            return schema is not False
        for name, argument in schema.items():
            if name in CHECKS:
                of_value, of_argument, holds = CHECKS[name]
                if of_value(value) and of_argument(argument) and not holds(self, value, argument, schema):
                    return False
        return True


def count(schema: Schema, keyword: str, otherwise: int) -> int:
    """Return the number at a keyword, another where it has none."""
    value = schema.get(keyword)
    return int(value) if is_number(value) and value >= 0 else otherwise


def members(schema: Schema, keyword: str) -> Schema:
    """Return the object at a keyword, an empty one where it has none."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def listed(schema: Schema, keyword: str) -> list[Any]:
    """Return the list at a keyword, an empty one where it has none."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def resolve(root: Any, reference: str) -> Any:
    """Return the subschema at `#`, `#/$defs/name` or the like; where there is none, one that takes everything."""
    found = root
    for step in unquote(reference.removeprefix("#")).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal():
            found = found[int(key)] if int(key) < len(found) else {}
        else:
            found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number: true and infinity are none."""
    return type(value) in (int, float) and math.isfinite(value)


def exact(value: float) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth, whatever a float holds."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _is_same(one: Any, other: Any) -> bool:
    """JSON tells true from 1, Python does not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and value == int(value),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

Check = Callable[[Checker, Any, Any, Schema], bool]


def _type(examples: Checker, value: Any, argument: Any, schema: Schema) -> bool:
    kinds = argument if isinstance(argument, list) else [argument]
    return any(not isinstance(kind, str) or kind not in TYPES or TYPES[kind](value) for kind in kinds)


def _additional(examples: Checker, value: Any, argument: Any, schema: Schema) -> bool:
    known = members(schema, "properties")
    rest = (value[name] for name in value if name not in known)
    return "patternProperties" in schema or all(examples.fits(one, argument) for one in rest)


def _prefix(examples: Checker, value: Any, argument: Any, schema: Schema) -> bool:
    return all(map(examples.fits, value, argument))


def _every(examples: Checker, value: Any, argument: Any, schema: Schema) -> bool:
    if isinstance(argument, list):
        return _prefix(examples, value, argument, schema)
    return all(examples.fits(item, argument) for item in value[len(listed(schema, "prefixItems")) :])


def _bound(holds: Callable[[Fraction, Fraction], bool]) -> tuple[Callable[[Any], bool], Callable[[Any], bool], Check]:
    return is_number, is_number, lambda _, value, bound, __: holds(exact(value), exact(bound))


_any: Callable[[Any], bool] = lambda value: True  # noqa: E731 - as those of `TYPES`
_string, _array, _object = TYPES["string"], TYPES["array"], TYPES["object"]
_at_least: Check = lambda _, value, size, __: len(value) >= size  # noqa: E731 - as those below
_at_most: Check = lambda _, value, size, __: len(value) <= size  # noqa: E731

CHECKS: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any], bool], Check]] = {
    "$ref": (_any, _string, lambda by, value, at, _: by.fits(value, resolve(by.root, at))),
    "allOf": (_any, _array, lambda by, value, parts, _: all(by.fits(value, one) for one in parts)),
    "anyOf": (_any, _array, lambda by, value, parts, _: any(by.fits(value, one) for one in parts)),
    "oneOf": (_any, _array, lambda by, value, parts, _: sum(by.fits(value, one) for one in parts) == 1),
    "not": (_any, _any, lambda by, value, other, _: not by.fits(value, other)),
    "const": (_any, _any, lambda _, value, other, __: _is_same(value, other)),
    "enum": (_any, _array, lambda _, value, others, __: any(_is_same(value, one) for one in others)),
    "type": (_any, _any, _type),
    "properties": (
        _object,
        _object,
        lambda by, value, known, _: all(by.fits(value[name], known[name]) for name in value if name in known),
    ),
    "additionalProperties": (_object, _any, _additional),
    "required": (_object, _array, lambda _, value, names, __: all(n in value for n in names if isinstance(n, str))),
    "minProperties": (_object, is_number, _at_least),
    "maxProperties": (_object, is_number, _at_most),
    "prefixItems": (_array, _array, _prefix),
    "items": (_array, _any, _every),
    "minItems": (_array, is_number, _at_least),
    "maxItems": (_array, is_number, _at_most),
    "uniqueItems": (
        _array,
        lambda argument: argument is True,
        lambda _, value, __, ___: len({json.dumps(item, sort_keys=True) for item in value}) == len(value),
    ),
    "minLength": (_string, is_number, _at_least),
    "maxLength": (_string, is_number, _at_most),
    "minimum": _bound(lambda value, least: value >= least),
    "maximum": _bound(lambda value, most: value <= most),
    "exclusiveMinimum": _bound(lambda value, least: value > least),
    "exclusiveMaximum": _bound(lambda value, most: value < most),
    "multipleOf": _bound(lambda value, step: step == 0 or value % step == 0),
}
"""The values and the arguments that a keyword is for, and what it asks of them. Others it takes."""


def joined(first: Schema, second: Schema) -> Schema:
    """Return one schema for values that fit both. A keyword that cannot be joined is taken from the second."""
    both = [name for name in first if name in second and name in _JOIN]
    joined = {name: _JOIN[name][1](first[name], second[name]) for name in both if _can_join(name, first, second)}
    return first | second | joined


def _can_join(name: str, first: Schema, second: Schema) -> bool:
    return all(_JOIN[name][0](one[name]) for one in (first, second))


def _both(first: Any, second: Any) -> Any:
    return {"allOf": [first, second]}


def _common(first: Any, second: Any) -> Any:
    """Return the values in both; of types, `integer` is a `number` too."""
    ours, theirs = (value if isinstance(value, list) else [value] for value in (first, second))
    common = [one for one in ours if one in theirs or (one == "integer" and "number" in theirs)]
    return common + [one for one in theirs if one == "integer" and "number" in ours and one not in common]


def _pairs(first: Any, second: Any) -> Any:
    """Return the alternatives of two lists of them; only the second's where they would be too many."""
    too_many = len(first) * len(second) > MOST_PAIRS
    return second if too_many else [_both(one, other) for one in first for other in second]


_JOIN: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, Any], Any]]] = {
    "properties": (
        _object,
        lambda first, second: (
            first | second | {name: _both(first[name], second[name]) for name in first if name in second}
        ),
    ),
    "required": (
        _array,
        lambda first, second: list(dict.fromkeys(name for name in (*first, *second) if isinstance(name, str))),
    ),
    "allOf": (_any, lambda first, second: [_both({"allOf": first}, {"allOf": second})]),
    **dict.fromkeys(("type", "enum"), (_any, _common)),
    **dict.fromkeys(("anyOf", "oneOf"), (_array, _pairs)),
    **dict.fromkeys(("items", "additionalProperties"), (_any, _both)),
    "multipleOf": (lambda step: isinstance(step, int), math.lcm),
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), (is_number, max)),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), (is_number, min)),
}
"""Which values of a keyword can be joined, and how."""
