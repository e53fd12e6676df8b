"""Values that fit a JSON Schema, with a word of the user's where a text is free.

Candidates are made from the schema, the most natural ones first, and the first one that fits is taken; so a clumsy
candidate costs a try and never the truth. Texts are made to `pattern` and `format` and not checked against them: to run
a stranger's regular expression may take for ever.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from antiphon.upstream.demo.patterns import LONGEST, texts
from antiphon.upstream.demo.schema import Checker, Schema, count, exact, is_number, joined, listed, members, resolve

MOST_ITEMS = 1000
"""Items and properties that an example has at most."""

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


class _Examples(Checker):
    """Examples of the subschemas of `root`.

    `wanted` is the text for a free string; another `vary` draws another value, for lists without repetition; `opened`
    are the references that lead here.
    """

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
            if branches := listed(flat, keyword):
                rest = {name: value for name, value in flat.items() if name != keyword}
                # A branch that leads back to where we come from is the last resort.
                for branch in sorted(branches, key=lambda one: self._leads_back(one, opened)):
                    if isinstance(branch, dict):
                        yield from self._candidates(joined(rest, branch), wanted, vary, opened)
                return
        for kind in _kinds(flat):
            yield from self._of_kind(kind, flat, wanted, vary, opened)

    def _flat(self, schema: Any, opened: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        """Return the schema with its references and `allOf` written out, and the references now opened."""
        self.spend()
        flat = schema if isinstance(schema, dict) else {}
        while isinstance(reference := flat.get("$ref"), str):
            self.spend()
            target = resolve(self.root, reference)
            rest = {name: value for name, value in flat.items() if name != "$ref"}
            flat, opened = joined(target if isinstance(target, dict) else {}, rest), opened | {reference}
        parts = listed(flat, "allOf")
        flat = {name: value for name, value in flat.items() if name != "allOf"}
        for part in parts:
            more, opened = self._flat(part, opened)
            flat = joined(flat, more)
        return flat, opened

    def _leads_back(self, schema: Any, opened: frozenset[str]) -> bool:
        self.spend()
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
        properties = members(flat, "properties")
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
        required = list(dict.fromkeys(name for name in listed(flat, "required") if isinstance(name, str)))
        optional = [
            name
            for name, one in members(flat, "properties").items()
            if name not in required and one is not False and not self._leads_back(one, opened)
        ]
        least = min(count(flat, "minProperties", 0), MOST_ITEMS)
        names = required or optional[: count(flat, "maxProperties", MOST_ITEMS)]
        names += [name for name in optional if name not in names][: max(least - len(names), 0)]
        return names + [f"property_{number}" for number in range(len(names) + 1, least + 1)]

    def _arrays(self, flat: Schema, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[list[Any]]:
        items = flat.get("items", {})
        first = items if isinstance(items, list) else listed(flat, "prefixItems")
        rest = flat.get("additionalItems", {}) if isinstance(items, list) else items
        least = min(count(flat, "minItems", 0), MOST_ITEMS)
        usual = len(first) or (0 if self._leads_back(rest, opened) else 1)
        for size in dict.fromkeys((max(least, min(usual, count(flat, "maxItems", usual))), least)):
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
    if values := listed(flat, "enum"):
        start = vary % len(values)
        yield from values[start:] + values[:start]
    if vary == 0 and flat.get("default") is not None:
        yield flat["default"]
    if examples := listed(flat, "examples"):
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
    if is_number(least):
        wanted = wanted.ljust(min(int(least), LONGEST) - len(ending), "x")
    if is_number(most):
        wanted = wanted[: max(int(most) - len(ending), 0)]
        ending = ending.strip()[: int(most)] if not wanted else ending
    return wanted + ending
