"""Two JSON Schemas as one that asks what both ask."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from antiphon.upstream.demo.fits import Schema, is_number

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
