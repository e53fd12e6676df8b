"""Whether a value fits a JSON Schema, as far as `demo` writes examples.

Not looked at: `pattern` and `format` (texts are made to them, and to run a stranger's regular expression may take for
ever), `if`, `patternProperties`, `contains`, `unevaluated…`. A keyword whose own value makes no sense says nothing.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeGuard
from urllib.parse import unquote

from antiphon.upstream.demo.patterns import LONGEST, texts

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


MOST_PAIRS = 100
"""Alternatives that two lists may give together."""


def joined(first: Schema, second: Schema) -> Schema:
    """Return one schema for values that fit both. A keyword that cannot be joined is taken from the second."""
    both = first.keys() & second.keys()
    return first | second | {name: _JOIN[name](first[name], second[name]) for name in both if name in _JOIN}


def _both(first: Any, second: Any) -> Any:
    return {"allOf": [first, second]}


def _properties(first: Any, second: Any) -> Any:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    return first | second | {name: _both(first[name], second[name]) for name in first if name in second}


def _names(first: Any, second: Any) -> Any:
    if not isinstance(first, list) or not isinstance(second, list):
        return second
    return list(dict.fromkeys(name for name in (*first, *second) if isinstance(name, str)))


def _common(first: Any, second: Any) -> Any:
    """Return the values in both; of types, `integer` is a `number` too."""
    ours, theirs = (value if isinstance(value, list) else [value] for value in (first, second))
    common = [one for one in ours if one in theirs or (one == "integer" and "number" in theirs)]
    return common + [one for one in theirs if one == "integer" and "number" in ours and one not in common]


def _pairs(first: Any, second: Any) -> Any:
    """Return the alternatives of two lists of them; only the second's where they would be too many."""
    if not isinstance(first, list) or not isinstance(second, list) or len(first) * len(second) > MOST_PAIRS:
        return second
    return [_both(one, other) for one in first for other in second]


def _chosen(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda first, second: choose(first, second) if is_number(first) and is_number(second) else second


def _common_multiple(first: Any, second: Any) -> Any:
    return math.lcm(first, second) if isinstance(first, int) and isinstance(second, int) else second


_LARGER, _SMALLER = _chosen(max), _chosen(min)

_JOIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _names,
    "allOf": lambda first, second: [_both({"allOf": first}, {"allOf": second})],
    "type": _common,
    "enum": _common,
    "anyOf": _pairs,
    "oneOf": _pairs,
    "items": _both,
    "additionalProperties": _both,
    "multipleOf": _common_multiple,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _LARGER),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _SMALLER),
}


def numbers(schema: Schema, *, whole: bool, vary: int) -> Iterator[float]:
    """Give candidates, small positive ones first; another `vary` gives others. Not each need fit."""
    least, most = _limit(schema, "minimum", max), _limit(schema, "maximum", min)
    step = _step(schema, whole)
    starts = [max(1, math.ceil((least or 0) / step))]
    if least is not None:
        starts.append(math.ceil(least / step))
    yield from (_plain((start + vary + further) * step) for start in starts for further in (0, 1))
    if most is not None:
        yield from (_plain((math.floor(most / step) - vary - further) * step) for further in (0, 1))
    if least is not None and most is not None:
        yield _plain(least + (most - least) * Fraction(vary + 1, vary + 2))
    yield starts[0] + vary + 0.5


def _limit(schema: Schema, name: str, choose: Callable[[Iterable[Fraction]], Fraction]) -> Fraction | None:
    values = [schema.get(name), schema.get(f"exclusive{name.capitalize()}")]
    numbers = [exact(value) for value in values if is_number(value)]
    return choose(numbers) if numbers else None


def _step(schema: Schema, whole: bool) -> Fraction:
    value = schema.get("multipleOf")
    step = exact(value) if is_number(value) and value > 0 else Fraction(1)
    return Fraction(step.numerator) if whole else step


def _plain(number: Fraction) -> float:
    return number.numerator if number.denominator == 1 else float(number)


FORMATS = {
    "date": "2025-01-{:02}",
    "date-time": "2025-01-{:02}T12:00:00Z",
    "time": "12:{:02}:00Z",
    "duration": "PT{}H",
    "email": "demo{}@example.com",
    "idn-email": "demo{}@example.com",
    "hostname": "host{}.example.com",
    "idn-hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "uri": "https://example.com/{}",
    "uri-reference": "/{}",
    "url": "https://example.com/{}",
    "iri": "https://example.com/{}",
    "iri-reference": "/{}",
    "uri-template": "https://example.com/{}",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
    "json-pointer": "/{}",
    "relative-json-pointer": "{}",
    "regex": "[a-z]{{{}}}",
}
"""A text of each format, with the place of a number from 1 to 28."""


def strings(schema: Schema, wanted: str, vary: int) -> Iterator[str]:
    """Give candidates: `wanted`, where the schema leaves the choice free. Another `vary` gives others.

    Not each need fit.
    """
    form, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(pattern, str):
        yield from _of_pattern(pattern, vary)
    elif isinstance(form, str) and form in FORMATS:
        yield FORMATS[form].format(vary % 28 + 1)
    else:
        yield _long_enough(schema, wanted, f" {vary + 1}" if vary else "")


def _of_pattern(pattern: str, vary: int) -> Iterator[str]:
    try:
        yield from texts(pattern, vary)
    except ValueError:
        return


def _long_enough(schema: Schema, wanted: str, ending: str) -> str:
    least, most = (schema.get(name) for name in ("minLength", "maxLength"))
    if is_number(least):
        wanted = wanted.ljust(min(int(least), LONGEST) - len(ending), "x")
    if is_number(most):
        wanted = wanted[: max(int(most) - len(ending), 0)]
        ending = ending.strip()[: int(most)] if not wanted else ending
    return wanted + ending
