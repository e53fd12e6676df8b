"""An example of a JSON Schema: a value that fits it, with a word of the user's where a text is free.

Candidates are made from the schema, the most natural ones first, and the first one that fits is taken; so a clumsy
candidate costs a try and never the truth.
"""

import re
from collections.abc import Iterator
from typing import Any

from antiphon.upstream.demo.fits import (
    Judge,
    Schema,
    is_number,
    joined,
    listed,
    members,
    numbers,
    resolve,
    strings,
)

MOST_LOOKS = 20_000
"""Looks at subschemas that an example may cost: schemas that refer to themselves can grow without end."""

MOST_ITEMS = 1000

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
    """Examples of the subschemas of `root`.

    `wanted` is the text for a free string; another `vary` draws another value, for lists without repetition; `opened`
    are the references that lead here.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._looks = 0
        self._judge = Judge(root, self._spend)

    def draw(self, schema: Any, wanted: str, vary: int, opened: frozenset[str]) -> Any:
        """Return the first candidate that fits."""
        return _first(self._fitting(schema, wanted, vary, opened))

    def _fitting(self, schema: Any, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[Any]:
        candidates = self._candidates(schema, wanted, vary, opened)
        return (candidate for candidate in candidates if self._judge.fits(candidate, schema))

    def _spend(self) -> None:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise RecursionError

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
        self._spend()
        flat = schema if isinstance(schema, dict) else {}
        while isinstance(reference := flat.get("$ref"), str):
            self._spend()
            target = resolve(self._root, reference)
            rest = {name: value for name, value in flat.items() if name != "$ref"}
            flat, opened = joined(target if isinstance(target, dict) else {}, rest), opened | {reference}
        parts = listed(flat, "allOf")
        flat = {name: value for name, value in flat.items() if name != "allOf"}
        for part in parts:
            more, opened = self._flat(part, opened)
            flat = joined(flat, more)
        return flat, opened

    def _leads_back(self, schema: Any, opened: frozenset[str]) -> bool:
        self._spend()
        if isinstance(schema, dict):
            reference = schema.get("$ref")
            if isinstance(reference, str) and reference in opened:
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
                yield from numbers(flat, whole=kind == "integer", vary=vary)
            case "boolean":
                yield from (vary % 2 == 0, vary % 2 == 1)
            case "null":
                yield None
            case _:
                yield from strings(flat, wanted, vary)

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
        properties = members(flat, "properties")
        required = list(dict.fromkeys(name for name in listed(flat, "required") if isinstance(name, str)))
        optional = [
            name
            for name, one in properties.items()
            if name not in required and one is not False and not self._leads_back(one, opened)
        ]
        least = min(_count(flat, "minProperties", 0), MOST_ITEMS)
        most = _count(flat, "maxProperties", MOST_ITEMS)
        names = required or optional[:most]
        names += [name for name in optional if name not in names][: max(least - len(names), 0)]
        return names + [f"property_{number}" for number in range(len(names) + 1, least + 1)]

    def _arrays(self, flat: Schema, wanted: str, vary: int, opened: frozenset[str]) -> Iterator[list[Any]]:
        items = flat.get("items", {})
        first = items if isinstance(items, list) else listed(flat, "prefixItems")
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
        for place, schema in enumerate(schemas):
            fitting = self._variety(schema, wanted or ANYTHING, vary, place if is_set else 0, opened)
            value.append(_first(item for item in fitting if not is_set or item not in value))
        return value

    def _variety(self, schema: Any, wanted: str, vary: int, place: int, opened: frozenset[str]) -> Iterator[Any]:
        """Give what may stand at one place of a list; there are more than `place` values, where there are so many."""
        for one in (*range(vary + place, vary + 2 * place + 1), *range(vary, vary + place)):
            yield from self._fitting(schema, wanted, one, opened)


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


def _count(schema: Schema, keyword: str, otherwise: int) -> int:
    value = schema.get(keyword)
    return int(value) if is_number(value) and value >= 0 else otherwise
