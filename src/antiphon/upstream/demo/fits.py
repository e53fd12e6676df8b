"""Whether a value fits a JSON Schema, as far as `demo` writes examples.

Not looked at: `pattern` and `format` (texts are made to them, and to run a stranger's regular expression may take for
ever), `if`, `patternProperties`, `contains`, `unevaluated…`. A keyword whose own value makes no sense says nothing.
"""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeGuard
from urllib.parse import unquote

Schema = dict[str, Any]


def is_number(value: Any) -> TypeGuard[float]:
    """Whether the value is a number of JSON."""
    return type(value) in (int, float) and math.isfinite(value)


def exact(value: float) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth, whatever a float holds."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def members(schema: Schema, keyword: str) -> Schema:
    """Return the subschemas under a keyword; none where it holds anything but an object."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def listed(schema: Schema, keyword: str) -> list[Any]:
    """Return the list under a keyword; an empty one where it holds anything else."""
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


class Judge:
    """Judges values by the subschemas of `root`. `spend` is called for each look, and may end it all by raising."""

    def __init__(self, root: Any, spend: Callable[[], None]) -> None:
        self._root = root
        self._spend = spend

    def fits(self, value: Any, schema: Any) -> bool:
        """Whether the value fits."""
        self._spend()
        if not isinstance(schema, dict):
            return schema is not False
        return all(CHECKS[name](self, value, argument, schema) for name, argument in schema.items() if name in CHECKS)

    def reference(self, value: Any, argument: Any, schema: Schema) -> bool:
        return not isinstance(argument, str) or self.fits(value, resolve(self._root, argument))

    def all_of(self, value: Any, argument: Any, schema: Schema) -> bool:
        return not isinstance(argument, list) or all(self.fits(value, one) for one in argument)

    def any_of(self, value: Any, argument: Any, schema: Schema) -> bool:
        return not isinstance(argument, list) or any(self.fits(value, one) for one in argument)

    def one_of(self, value: Any, argument: Any, schema: Schema) -> bool:
        return not isinstance(argument, list) or sum(self.fits(value, one) for one in argument) == 1

    def properties(self, value: Any, argument: Any, schema: Schema) -> bool:
        if not isinstance(value, dict) or not isinstance(argument, dict):
            return True
        return all(self.fits(value[name], argument[name]) for name in value if name in argument)

    def additional(self, value: Any, argument: Any, schema: Schema) -> bool:
        if not isinstance(value, dict) or "patternProperties" in schema:
            return True
        known = members(schema, "properties")
        return all(self.fits(value[name], argument) for name in value if name not in known)

    def prefix(self, value: Any, argument: Any, schema: Schema) -> bool:
        if not isinstance(value, list) or not isinstance(argument, list):
            return True
        return all(self.fits(item, one) for item, one in zip(value, argument, strict=False))

    def items(self, value: Any, argument: Any, schema: Schema) -> bool:
        if isinstance(argument, list):
            return self.prefix(value, argument, schema)
        known = len(listed(schema, "prefixItems"))
        return not isinstance(value, list) or all(self.fits(item, argument) for item in value[known:])


Check = Callable[[Judge, Any, Any, Schema], bool]


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


def _type(judge: Judge, value: Any, argument: Any, schema: Schema) -> bool:
    kinds = argument if isinstance(argument, list) else [argument]
    return any(not isinstance(kind, str) or kind not in TYPES or TYPES[kind](value) for kind in kinds)


def _unique(judge: Judge, value: Any, argument: Any, schema: Schema) -> bool:
    if not isinstance(value, list) or argument is not True:
        return True
    return len({json.dumps(item, sort_keys=True) for item in value}) == len(value)


def _required(judge: Judge, value: Any, argument: Any, schema: Schema) -> bool:
    if not isinstance(value, dict) or not isinstance(argument, list):
        return True
    return all(name in value for name in argument if isinstance(name, str))


def _bound(holds: Callable[[Fraction, Fraction], bool]) -> Check:
    def check(judge: Judge, value: Any, argument: Any, schema: Schema) -> bool:
        return not is_number(value) or not is_number(argument) or holds(exact(value), exact(argument))

    return check


def _size(kind: type[dict[str, Any]] | type[list[Any]] | type[str], holds: Callable[[int, float], bool]) -> Check:
    def check(judge: Judge, value: Any, argument: Any, schema: Schema) -> bool:
        return not isinstance(value, kind) or not is_number(argument) or holds(len(value), argument)

    return check


CHECKS: Mapping[str, Check] = {
    "$ref": Judge.reference,
    "allOf": Judge.all_of,
    "anyOf": Judge.any_of,
    "oneOf": Judge.one_of,
    "not": lambda judge, value, argument, schema: not judge.fits(value, argument),
    "const": lambda judge, value, argument, schema: _is_same(value, argument),
    "enum": lambda judge, value, argument, schema: (
        not isinstance(argument, list) or any(_is_same(value, one) for one in argument)
    ),
    "type": _type,
    "properties": Judge.properties,
    "additionalProperties": Judge.additional,
    "required": _required,
    "minProperties": _size(dict, lambda size, least: size >= least),
    "maxProperties": _size(dict, lambda size, most: size <= most),
    "prefixItems": Judge.prefix,
    "items": Judge.items,
    "minItems": _size(list, lambda size, least: size >= least),
    "maxItems": _size(list, lambda size, most: size <= most),
    "uniqueItems": _unique,
    "minLength": _size(str, lambda size, least: size >= least),
    "maxLength": _size(str, lambda size, most: size <= most),
    "minimum": _bound(lambda value, least: value >= least),
    "maximum": _bound(lambda value, most: value <= most),
    "exclusiveMinimum": _bound(lambda value, least: value > least),
    "exclusiveMaximum": _bound(lambda value, most: value < most),
    "multipleOf": _bound(lambda value, step: step == 0 or value % step == 0),
}
"""What each keyword asks of a value: takes the judge, the value, the keyword's own value and the schema around it."""
