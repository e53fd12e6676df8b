"""Reads a schema as the objects that match it: their properties, the required ones, and what else
it says of them.

Parts that hold together (`$ref`, `allOf`) are one shape that keeps the keywords of all.
Alternatives are one shape that has the properties of all, and requires those that each of them
requires; what else they say are words.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from antiphon.translation.to_chat_completions import schema_words as words
from antiphon.translation.to_chat_completions.schema_reading import (
    DEEPEST,
    PART,
    Schema,
    SchemaReading,
    TooLarge,
)
from antiphon.translation.to_chat_completions.schema_words import NOTES, PLACES

COMBINED = frozenset({"oneOf", "anyOf", "allOf", "$ref", "not", "enum", "const"})
"""Keywords that backends reject at the root, and references, which can lead to them."""

_SHAPED = COMBINED | {"type", "properties", "patternProperties", "required", "discriminator"}

_CONDITION = frozenset({"if", "then", "else"})

_TIED = _CONDITION | {"contains", "minContains", "maxContains"}
"""Keywords that mean nothing, or something else, without the others next to them."""

_NAMING = frozenset(
    {"additionalProperties", "unevaluatedProperties", "dependentSchemas", *_CONDITION}
)
"""Keywords that permit other properties than those that are listed."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")
"""A place in a list; Python refuses to read longer numbers."""

_CHOICES = {
    "oneOf": "The arguments have exactly one of these forms:",
    "anyOf": "The arguments have at least one of these forms:",
}


class ObjectShape(Struct):
    """The objects that match a schema."""

    properties: Schema = field(default_factory=dict)
    patterns: Schema = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    is_closed: bool | None = None
    """Whether it permits no other properties; None if it says nothing about properties."""
    rest: Schema = field(default_factory=dict)
    """Its other keywords."""
    words: dict[str, None] = field(default_factory=dict)
    """What it says beyond that, in words."""
    is_map: bool = False
    """Whether it, or one of its alternatives, says what properties are that it does not list."""
    has_more: bool = False
    """Whether only words say what other properties it permits."""


def shape(schema: Schema, reading: SchemaReading) -> ObjectShape | None:
    """Return the shape of a schema, None if it is read already. Raises `TooLarge`."""
    if id(schema) in reading.within:
        return None
    if len(reading.within) >= DEEPEST:
        raise TooLarge
    reading.within.add(id(schema))
    own = _own(schema, reading)
    together = [_target(schema["$ref"], reading)] if "$ref" in schema else []
    for one in together + _schemas(schema.get("allOf")):
        if part := shape(one, reading):
            _add(own, part, reading)
    for keyword, beginning in _CHOICES.items():
        provided = [one for one in _schemas(schema.get(keyword)) if _can_be_object(one)]
        if forms := [found for one in provided if (found := shape(one, reading))]:
            _add(own, _either(forms, beginning, reading), reading)
    for keyword in ("not", "enum", "const"):
        if keyword in schema:
            _add_words(own, words.rule({keyword: schema[keyword]}, reading), reading)
    reading.within.discard(id(schema))
    return own


def _own(schema: Schema, reading: SchemaReading) -> ObjectShape:
    properties, patterns, required = (
        schema.get(name) for name in ("properties", "patternProperties", "required")
    )
    lists = [
        one for one in (schema, properties, patterns, required) if isinstance(one, dict | list)
    ]
    reading.take(PART + sum(map(len, lists)))
    others = schema.get("additionalProperties")
    states = isinstance(properties, dict) or "additionalProperties" in schema
    return ObjectShape(
        properties=dict(properties) if isinstance(properties, dict) else {},
        patterns=dict(patterns) if isinstance(patterns, dict) else {},
        required=dict.fromkeys(name for name in required if isinstance(name, str))
        if isinstance(required, list)
        else {},
        is_closed=others is False if states else None,
        rest={
            name: value
            for name, value in schema.items()
            if name not in _SHAPED and not (name == "additionalProperties" and value is False)
        },
        is_map=isinstance(others, dict) or bool(patterns),
    )


def _add(own: ObjectShape, part: ObjectShape, reading: SchemaReading) -> None:
    """Make a shape that of objects that match the part too."""
    for members, more in ((own.properties, part.properties), (own.patterns, part.patterns)):
        reading.take(len(more))
        for name, member in more.items():
            members[name] = _narrowed(members[name], member, reading) if name in members else member
    own.required |= part.required
    if part.is_closed is not None:
        own.is_closed = part.is_closed and own.is_closed is not False
    own.words |= part.words
    own.is_map |= part.is_map
    own.has_more |= part.has_more
    _add_rest(own, part.rest, reading)


def _add_rest(own: ObjectShape, rest: Schema, reading: SchemaReading) -> None:
    reading.take(len(rest))
    clash: Schema = {}
    condition = {name: value for name, value in own.rest.items() if name in _CONDITION}
    for name, value in rest.items():
        if name in PLACES:
            continue
        if name not in own.rest and not (name in _CONDITION and condition):
            own.rest[name] = value
        elif value is not True and not reading.same(own.rest.get(name), value):
            clash[name] = value
    if isinstance(text := clash.pop("description", None), str):
        _add_words(own, text, reading)
    if not _CONDITION.isdisjoint(clash):
        clash = {name: value for name, value in rest.items() if name in clash or name in _CONDITION}
    clash = {name: value for name, value in clash.items() if name not in NOTES}
    if clash:
        own.has_more = True
        _add_words(own, words.rule(clash, reading), reading)


def _add_words(own: ObjectShape, text: str, reading: SchemaReading) -> None:
    if text not in own.words:
        reading.add(text)
        own.words[text] = None


def _either(forms: Sequence[ObjectShape], beginning: str, reading: SchemaReading) -> ObjectShape:
    """Return the shape of objects that match one of the forms."""
    first = forms[0]
    if len(forms) == 1:
        return first
    members: dict[str, list[Any]] = {}
    for form in forms:
        reading.take(len(form.properties))
        for name, member in form.properties.items():
            members.setdefault(name, []).append(member)
    maps = [form for form in forms if form.is_map]
    reading.take(len(maps) * len(members))
    closed = {False if form.patterns else form.is_closed for form in forms}
    either = ObjectShape(
        properties={
            name: _widened(found, reading)
            if all(name in form.properties for form in maps)
            else _notes(found[0])  # a form permits any other name
            for name, found in members.items()
        },
        required={
            name: None for name in first.required if all(name in form.required for form in forms)
        },
        is_closed=closed.pop() if len(closed) == 1 else False,
        is_map=bool(maps),
        has_more=any(
            form.has_more or form.is_map or not _NAMING.isdisjoint(form.rest) for form in forms
        ),
    )
    _add_words(either, words.alternatives(beginning, _described(forms, reading)), reading)
    return either


def _described(forms: Sequence[ObjectShape], reading: SchemaReading) -> list[str]:
    """Return the forms in words, as many as fit, and nothing for the others."""
    texts: list[str] = []
    length = 0
    for form in forms:
        rest = form.rest | ({"patternProperties": form.patterns} if form.patterns else {})
        is_short = length <= words.LONGEST
        texts.append(
            words.form(rest, form.required, form.properties, form.words, reading)
            if is_short
            else ""
        )
        length += len(texts[-1])
    return texts


def _narrowed(first: Any, second: Any, reading: SchemaReading) -> Any:
    """Return the schema of a value that matches both."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second if first is True else first
    if reading.same(first, second):
        return first
    reading.take(len(first) + len(second))
    merged = {**second, **first}
    is_tied = not (_TIED.isdisjoint(first) or _TIED.isdisjoint(second))
    if is_tied or not all(
        reading.same(merged[name], value) for name, value in second.items() if name not in NOTES
    ):
        parts = (
            first["allOf"]
            if first.keys() == {"allOf"} and isinstance(first["allOf"], list)
            else [first]
        )
        reading.add(second, *([] if parts is not first.get("allOf") else ()))
        return {"allOf": reading.once([*parts, second])}
    texts = [
        one["description"] for one in (first, second) if isinstance(one.get("description"), str)
    ]
    if len(texts) == 2 and texts[1] not in texts[0]:
        reading.add(texts[1])
        merged["description"] = "\n".join(texts)
    reading.add(first)
    return merged


def _widened(members: Sequence[Any], reading: SchemaReading) -> Any:
    """Return the schema of a value that matches one of them."""
    different = reading.once(members)
    if len(different) == 1:
        return different[0]
    values = [words.values_of(one) for one in different]
    if any(found is None for found in values):
        reading.add(*different)
        return {"anyOf": different}
    listed = reading.once(value for found in values for value in found or ())
    reading.add(*listed)
    kinds = reading.once(one.get("type") for one in different)  # a list of types has no hash
    kind = kinds[0] if len(kinds) == 1 else None
    if kind is None and all(isinstance(value, str) for value in listed):
        kind = "string"
    return _common_notes(different, reading) | ({"type": kind} if kind else {}) | {"enum": listed}


def _common_notes(schemas: Sequence[Schema], reading: SchemaReading) -> Schema:
    """Return the notes that all have, and the descriptions of all, each behind its values."""
    first, *others = schemas
    notes = {
        name: value
        for name, value in first.items()
        if name in NOTES and all(name in one and reading.same(one[name], value) for one in others)
    }
    if "description" in notes:
        return notes
    lines = [
        f"{' or '.join(map(reading.json, words.values_of(one) or ()))}: {one['description']}"
        for one in schemas
        if isinstance(one.get("description"), str)
    ]
    reading.add(*lines)
    return notes | ({"description": "\n".join(lines)} if lines else {})


def _notes(member: Any) -> Schema:
    return (
        {name: value for name, value in member.items() if name in NOTES}
        if isinstance(member, dict)
        else {}
    )


def _can_be_object(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)


def _schemas(value: Any) -> list[Schema]:
    provided = value if isinstance(value, list) else ()
    return [{} if one is True else one for one in provided if one is True or isinstance(one, dict)]


def _target(reference: Any, reading: SchemaReading) -> Schema:
    reading.take(len(reference) // 20 if isinstance(reference, str) else 0)
    return resolved(reference, reading.root)


def resolved(reference: Any, root: Schema) -> Schema:
    """Return what a reference within the schema names; an empty schema if it names nothing."""
    if not isinstance(reference, str) or reference[:2] not in ("#", "#/"):
        return {}
    found: Any = root
    for step in reference[2:].split("/") if len(reference) > 2 else ():
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list):
            found = found[int(step)] if _INDEX.fullmatch(step) and int(step) < len(found) else None
        else:
            return {}
    return found if isinstance(found, dict) else {}
