"""Values that fit a JSON Schema, with a word of the user's where a text is free, and texts that a pattern takes.

Candidates are made from the schema, the most natural ones first, and the first one that fits is taken; so a clumsy
candidate costs a try and never the truth. Whether one fits is seen without `pattern` and `format` (texts are made to
them, and to run a stranger's regular expression may take for ever), `if`, `patternProperties`, `contains` and
`unevaluated…`. A keyword whose own value makes no sense says nothing.
"""

import json
import math
import re
import string
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from importlib import import_module
from typing import Any, TypeGuard
from urllib.parse import unquote

Schema = dict[str, Any]

MOST_LOOKS = 20_000
"""Looks at subschemas that an example may cost: schemas that refer to themselves can grow without end."""

MOST_ITEMS = 1000
MOST_PAIRS = 100
"""Alternatives that two lists may give together."""

LONGEST = 10_000
"""Characters of a text; a pattern that asks for more gets none."""

ANYTHING = "example"
"""What a free text says where nothing better is known."""


class NoExampleError(ValueError):
    """No value was found that fits the schema."""


def example_of(schema: Any, text: str = "") -> Any:
    """Return a value that fits the schema. Raises `NoExampleError` where none is found.

    The first free text of an object is a word of `text`, the user's; others are the property's own name. Objects have
    the properties that are required, or all of them where the schema names none as required.
    """
    try:
        return _Examples(schema).draw(schema, _word(text), 0, frozenset({"#"}))
    except RecursionError:
        raise NoExampleError("The schema is nested too deeply.") from None


def _word(text: str) -> str:
    """Return the word that the text is most likely about: the first name in it, else the last of its longest words."""
    words = [word for word in re.findall(r"[^\W\d][\w-]*", text) if "_" not in word]
    names = [word for word in words[1:] if word[0].isupper() and len(word) > 1]
    return next(iter(names), max(reversed(words), key=len, default=ANYTHING))


class _Examples:
    """Examples of the subschemas of `root`, and whether values fit them.

    `wanted` is the text for a free string; another `vary` draws another value, for lists without repetition; `opened`
    are the references that lead here.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._looks = 0

    def _spend(self) -> None:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise RecursionError

    def fits(self, value: Any, schema: Any) -> bool:
        """Whether a value fits a subschema."""
        self._spend()
        if not isinstance(schema, dict):
            return schema is not False
        for name, argument in schema.items():
            if name in CHECKS:
                of_value, of_argument, holds = CHECKS[name]
                if of_value(value) and of_argument(argument) and not holds(self, value, argument, schema):
                    return False
        return True

    def draw(self, schema: Any, wanted: str, vary: int, opened: frozenset[str]) -> Any:
        """Return the first candidate that fits."""
        return _first(self._fitting(schema, wanted, vary, opened))

    def _fitting(self, schema: Any, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[Any]:
        candidates = self._candidates(schema, wanted, vary, opened)
        return (candidate for candidate in candidates if self.fits(candidate, schema))

    def _candidates(self, schema: Any, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[Any]:
        flat, opened = self._flat(schema, opened)
        yield from _told(flat, vary)
        for keyword in ("anyOf", "oneOf"):
            if branches := _listed(flat, keyword):
                rest = {name: value for name, value in flat.items() if name != keyword}
                # A branch that leads back to where we come from is the last resort.
                for branch in sorted(branches, key=lambda one: self._leads_back(one, opened)):
                    if isinstance(branch, dict):
                        yield from self._candidates(_joined(rest, branch), wanted, vary, opened)
                return
        for kind in _kinds(flat):
            yield from self._of_kind(kind, flat, wanted, vary, opened)

    def _flat(self, schema: Any, opened: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        """Return the schema with its references and `allOf` written out, and the references now opened."""
        self._spend()
        flat = schema if isinstance(schema, dict) else {}
        while isinstance(reference := flat.get("$ref"), str):
            self._spend()
            target = _resolve(self.root, reference)
            rest = {name: value for name, value in flat.items() if name != "$ref"}
            flat, opened = _joined(target if isinstance(target, dict) else {}, rest), opened | {reference}
        parts = _listed(flat, "allOf")
        flat = {name: value for name, value in flat.items() if name != "allOf"}
        for part in parts:
            more, opened = self._flat(part, opened)
            flat = _joined(flat, more)
        return flat, opened

    def _leads_back(self, schema: Any, opened: frozenset[str]) -> bool:
        self._spend()
        if isinstance(schema, dict) and isinstance(at := schema.get("$ref"), str) and at in opened:
            return True
        inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        return any(self._leads_back(one, opened) for one in inner)

    def _of_kind(self, kind: str, flat: Schema, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[Any]:
        match kind:
            case "object":
                yield from self._object(flat, wanted, vary, opened)
            case "array":
                yield from self._arrays(flat, wanted, vary, opened)
            case "integer" | "number":
                yield from _numbers(flat, whole=kind == "integer", vary=vary)
            case "boolean":
                yield from (vary % 2 == 0, vary % 2 == 1)
            case "null":
                yield None
            case _:
                yield from _strings(flat, wanted, vary)

    def _object(self, flat: Schema, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[Schema]:
        properties = _members(flat, "properties")
        value: Schema = {}
        try:
            for name in self._names(flat, opened):
                subschema = properties.get(name, flat.get("additionalProperties", {}))
                value[name] = self.draw(subschema, wanted or name, vary, opened)
                if value[name] == wanted:
                    wanted = ""
        except NoExampleError:
            return
        yield value

    def _names(self, flat: Schema, opened: frozenset[str]) -> list[str]:
        """Return the names of the properties to give."""
        required = list(dict.fromkeys(name for name in _listed(flat, "required") if isinstance(name, str)))
        optional = [
            name
            for name, one in _members(flat, "properties").items()
            if name not in required and one is not False and not self._leads_back(one, opened)
        ]
        least = min(_count(flat, "minProperties", 0), MOST_ITEMS)
        names = required or optional[: _count(flat, "maxProperties", MOST_ITEMS)]
        names += [name for name in optional if name not in names][: max(least - len(names), 0)]
        return names + [f"property_{number}" for number in range(len(names) + 1, least + 1)]

    def _arrays(self, flat: Schema, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[list[Any]]:
        items = flat.get("items", {})
        first = items if isinstance(items, list) else _listed(flat, "prefixItems")
        rest = flat.get("additionalItems", {}) if isinstance(items, list) else items
        least = min(_count(flat, "minItems", 0), MOST_ITEMS)
        usual = len(first) or (0 if self._leads_back(rest, opened) else 1)
        for size in dict.fromkeys((max(least, min(usual, _count(flat, "maxItems", usual))), least)):
            schemas = [*first[:size], *[rest] * (size - len(first))]
            try:
                yield self._items(schemas, wanted, vary, opened, is_set=flat.get("uniqueItems") is True)
            except NoExampleError:
                continue

    def _items(self, schemas: list[Any], wanted: str, vary: int, opened: frozenset[str], *, is_set: bool) -> list[Any]:
        value: list[Any] = []
        for number, schema in enumerate(schemas):
            # There are more numbers than the place's own, so another value for each place where there are so many.
            place = number if is_set else 0
            varied = (*range(vary + place, vary + 2 * place + 1), *range(vary, vary + place))
            fitting = (item for one in varied for item in self._fitting(schema, wanted or ANYTHING, one, opened))
            value.append(_first(item for item in fitting if not is_set or item not in value))
        return value


def _first(values: Iterator[Any]) -> Any:
    for value in values:
        return value
    raise NoExampleError("No value was found that fits the schema.")


def _told(flat: Schema, vary: int) -> Iterator[Any]:
    """Give the values that the schema itself names."""
    if "const" in flat:
        yield flat["const"]
    if values := _listed(flat, "enum"):
        start = vary % len(values)
        yield from values[start:] + values[:start]
    if vary == 0 and flat.get("default") is not None:
        yield flat["default"]
    if examples := _listed(flat, "examples"):
        yield examples[vary % len(examples)]


KEYWORDS = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that tell the type where the schema does not."""


def _kinds(flat: Schema) -> list[str]:
    """Return the types to try, `null` last."""
    kind = flat.get("type")
    if kind is None:
        return [next((kind for kind, names in KEYWORDS.items() if any(name in flat for name in names)), "string")]
    kinds = kind if isinstance(kind, list) else [kind]
    return sorted((str(one) for one in kinds), key=lambda one: one == "null")


def _count(schema: Schema, keyword: str, otherwise: int) -> int:
    value = schema.get(keyword)
    return int(value) if _is_number(value) and value >= 0 else otherwise


def _members(schema: Schema, keyword: str) -> Schema:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _listed(schema: Schema, keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _resolve(root: Any, reference: str) -> Any:
    """Return the subschema at `#`, `#/$defs/name` or the like; where there is none, one that takes everything."""
    found = root
    for step in unquote(reference.removeprefix("#")).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal():
            found = found[int(key)] if int(key) < len(found) else {}
        else:
            found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and math.isfinite(value)


def _exact(value: float) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth, whatever a float holds."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _is_same(one: Any, other: Any) -> bool:
    """JSON tells true from 1, Python does not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

Check = Callable[[_Examples, Any, Any, Schema], bool]


def _type(examples: _Examples, value: Any, argument: Any, schema: Schema) -> bool:
    kinds = argument if isinstance(argument, list) else [argument]
    return any(not isinstance(kind, str) or kind not in TYPES or TYPES[kind](value) for kind in kinds)


def _additional(examples: _Examples, value: Any, argument: Any, schema: Schema) -> bool:
    known = _members(schema, "properties")
    rest = (value[name] for name in value if name not in known)
    return "patternProperties" in schema or all(examples.fits(one, argument) for one in rest)


def _prefix(examples: _Examples, value: Any, argument: Any, schema: Schema) -> bool:
    return all(map(examples.fits, value, argument))


def _every(examples: _Examples, value: Any, argument: Any, schema: Schema) -> bool:
    if isinstance(argument, list):
        return _prefix(examples, value, argument, schema)
    return all(examples.fits(item, argument) for item in value[len(_listed(schema, "prefixItems")) :])


def _bound(holds: Callable[[Fraction, Fraction], bool]) -> tuple[Callable[[Any], bool], Callable[[Any], bool], Check]:
    return _is_number, _is_number, lambda _, value, bound, __: holds(_exact(value), _exact(bound))


_any: Callable[[Any], bool] = lambda value: True  # noqa: E731 - as those of `TYPES`
_string, _array, _object = TYPES["string"], TYPES["array"], TYPES["object"]
_at_least: Check = lambda _, value, size, __: len(value) >= size  # noqa: E731 - as those below
_at_most: Check = lambda _, value, size, __: len(value) <= size  # noqa: E731

CHECKS: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any], bool], Check]] = {
    "$ref": (_any, _string, lambda by, value, at, _: by.fits(value, _resolve(by.root, at))),
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
    "minProperties": (_object, _is_number, _at_least),
    "maxProperties": (_object, _is_number, _at_most),
    "prefixItems": (_array, _array, _prefix),
    "items": (_array, _any, _every),
    "minItems": (_array, _is_number, _at_least),
    "maxItems": (_array, _is_number, _at_most),
    "uniqueItems": (
        _array,
        lambda argument: argument is True,
        lambda _, value, __, ___: len({json.dumps(item, sort_keys=True) for item in value}) == len(value),
    ),
    "minLength": (_string, _is_number, _at_least),
    "maxLength": (_string, _is_number, _at_most),
    "minimum": _bound(lambda value, least: value >= least),
    "maximum": _bound(lambda value, most: value <= most),
    "exclusiveMinimum": _bound(lambda value, least: value > least),
    "exclusiveMaximum": _bound(lambda value, most: value < most),
    "multipleOf": _bound(lambda value, step: step == 0 or value % step == 0),
}
"""The values and the arguments that a keyword is for, and what it asks of them. Others it takes."""


def _joined(first: Schema, second: Schema) -> Schema:
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
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), (_is_number, max)),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), (_is_number, min)),
}
"""Which values of a keyword can be joined, and how."""


def _numbers(schema: Schema, *, whole: bool, vary: int) -> Iterator[float]:
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
    numbers = [_exact(value) for value in values if _is_number(value)]
    return choose(numbers) if numbers else None


def _step(schema: Schema, whole: bool) -> Fraction:
    value = schema.get("multipleOf")
    step = _exact(value) if _is_number(value) and value > 0 else Fraction(1)
    return Fraction(step.numerator) if whole else step


def _plain(number: Fraction) -> float:
    return number.numerator if number.denominator == 1 else float(number)


FORMATS = {
    "date": "2025-01-{:02}",
    "date-time": "2025-01-{:02}T12:00:00Z",
    "time": "12:{:02}:00Z",
    "duration": "PT{}H",
    **dict.fromkeys(("email", "idn-email"), "demo{}@example.com"),
    **dict.fromkeys(("hostname", "idn-hostname"), "host{}.example.com"),
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    **dict.fromkeys(("uri", "url", "iri", "uri-template"), "https://example.com/{}"),
    **dict.fromkeys(("uri-reference", "iri-reference", "json-pointer"), "/{}"),
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
    "relative-json-pointer": "{}",
    "regex": "[a-z]{{{}}}",
}
"""A text of each format, with the place of a number from 1 to 28."""


def _strings(schema: Schema, wanted: str, vary: int) -> Iterator[str]:
    """Give candidates: `wanted`, where the schema leaves the choice free. Another `vary` gives others.

    Not each need fit.
    """
    form, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(pattern, str):
        try:
            yield from texts(pattern, vary)
        except ValueError:
            return
    elif isinstance(form, str) and form in FORMATS:
        yield FORMATS[form].format(vary % 28 + 1)
    else:
        yield _long_enough(schema, wanted, f" {vary + 1}" if vary else "")


def _long_enough(schema: Schema, wanted: str, ending: str) -> str:
    least, most = (schema.get(name) for name in ("minLength", "maxLength"))
    if _is_number(least):
        wanted = wanted.ljust(min(int(least), LONGEST) - len(ending), "x")
    if _is_number(most):
        wanted = wanted[: max(int(most) - len(ending), 0)]
        ending = ending.strip()[: int(most)] if not wanted else ending
    return wanted + ending


WORD = string.ascii_letters + string.digits + "_"
PRINTABLE = WORD + " " + string.punctuation
CLASSES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": WORD,
    "CATEGORY_SPACE": " \t\n\r",
    "CATEGORY_NOT_DIGIT": "".join(sign for sign in PRINTABLE if not sign.isdigit()),
    "CATEGORY_NOT_WORD": "".join(sign for sign in PRINTABLE if sign not in WORD),
    "CATEGORY_NOT_SPACE": PRINTABLE.replace(" ", ""),
}
_ELSEWHERE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_BRACE = re.compile(r"\{(?!\d+(?:,\d*)?\}|,\d*\})")


def texts(pattern: str, vary: int = 0) -> Iterator[str]:
    """Give ever longer texts in which the pattern is found, without running it: some expressions never end.

    Another `vary` chooses other characters. Raises `ValueError` for a pattern that is not understood, or whose texts
    are too long. Understood: literals, `.`, classes, groups, alternatives, quantifiers, anchors.
    """
    if _BRACE.search(_ELSEWHERE.sub("", pattern)):
        raise ValueError("a brace that quantifies nothing")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = import_module("re._parser").parse(re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from error
    if tree.state.flags != re.UNICODE:
        raise ValueError("it sets a flag")
    for more in (0, 1, 2, *(2**power for power in range(2, 12))):
        yield _text(tree, more, vary)


def _text(nodes: Iterable[tuple[Any, Any]], more: int, vary: int) -> str:
    """Return a text of a sequence, with so many `more` than the fewest repetitions."""
    return _short("".join(_piece(str(kind), value, more, vary) for kind, value in nodes))


def _piece(kind: str, value: Any, more: int, vary: int) -> str:
    match kind:
        case "AT" if str(value) in {"AT_BEGINNING", "AT_END"}:
            return ""
        case "LITERAL":
            return chr(value)
        case "ANY":
            return WORD[vary % len(WORD)]
        case "IN" | "NOT_LITERAL":
            signs = _class(value) if kind == "IN" else _opposite(chr(value))
            return signs[vary % len(signs)]
        case "BRANCH":
            return _text(value[1][vary % len(value[1])], more, vary)
        case "SUBPATTERN" if not value[1] and not value[2]:
            return _text(value[3], more, vary)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            return _repeated(_text(inner, more, vary), min(least + more, int(most)))
    raise ValueError(f"{kind} is not understood")


def _class(members: list[tuple[Any, Any]]) -> str:
    """Return the characters of a class."""
    signs = ""
    for kind, value in members:
        match str(kind):
            case "LITERAL":
                signs += chr(value)
            case "RANGE":
                signs += "".join(map(chr, range(value[0], min(value[1], value[0] + 99) + 1)))
            case "CATEGORY":
                signs += CLASSES[str(value)]
    return _opposite(signs) if str(members[0][0]) == "NEGATE" else signs


def _opposite(signs: str) -> str:
    found = "".join(sign for sign in PRINTABLE if sign not in signs)
    if not found:
        raise ValueError("an empty class")
    return found


def _repeated(text: str, times: int) -> str:
    if len(text) * times > LONGEST:
        raise ValueError("too long")
    return text * times


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError("too long")
    return text
