"""Gives the schema of a tool's arguments the root that every backend accepts: an object with `properties`.

Clients and MCP servers send tools without a schema, and schemas with a choice (`oneOf`, `anyOf`), a sum (`allOf`) or a
reference at the root. Backends of many families reject the request with such a tool (codex#37786, #36441,
cc-switch#4705, #4783, #5357, grok2api#650; without properties: osaurus#2847, copilot-cli#1825, mcptools#89).

`completed` adds what is missing and changes no meaning. `flattened` replaces a choice by one object that has the
properties of all alternatives, and describes the alternatives in words. Arguments are still checked against the schema
of the client.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

Schema = dict[str, Any]

COMBINED = frozenset({"oneOf", "anyOf", "allOf", "$ref", "not", "enum", "const"})
"""Keywords that backends reject at the root, and references, which can lead to them."""

LONGEST_WORDS = 1_500
"""Characters of the words that describe alternatives; those that do not fit are counted."""

DEEPEST = 20
"""Nested choices and references that are followed."""

MOST_PARTS = 500
"""Alternatives and references that are read; the properties of further ones are not named to the model."""

_INTO_ROOT = re.compile(rb'"\$ref":"#/(oneOf|anyOf|allOf)/(\d{1,6})')
"""A reference into a part of the root that is replaced."""

_INDEX = re.compile(r"[0-9]{1,7}")
"""A place in a list; Python refuses to read longer numbers."""


def completed(schema: Schema) -> Schema:
    """Return the schema with the type and the properties of an object, the same one if it has them or is a choice."""
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        return schema
    if not COMBINED.isdisjoint(schema):
        return schema
    members = schema.get("properties")
    rest = {name: value for name, value in schema.items() if name not in {"type", "properties"}}
    if rest.get("required", ()) is None:
        del rest["required"]
    return {"type": "object", "properties": members if isinstance(members, dict) else {}, **rest}


def is_flat(schema: Schema) -> bool:
    """Whether `flattened` changes nothing but what `completed` does."""
    return COMBINED.isdisjoint(schema)


def flattened(schema: Schema) -> tuple[Schema, str]:
    """Return a schema with an object at its root, and what the model must know in addition, empty for nothing.

    It has the properties of all alternatives, and requires those that each of them requires.
    """
    if is_flat(schema):
        return completed(schema), ""
    try:
        return _flattened(schema)
    except RecursionError:
        return {"type": "object", "properties": {}}, ""


def _flattened(schema: Schema) -> tuple[Schema, str]:
    shape = _shape(schema, _Root(schema), DEEPEST)
    kept = {name: value for name, value in schema.items() if name not in COMBINED | _SHAPED}
    flat: Schema = {"type": "object", "properties": shape.properties, **kept}
    if required := [name for name in shape.required if name in shape.properties]:
        flat["required"] = required
    if shape.is_closed and "additionalProperties" not in flat:
        flat["additionalProperties"] = False
    return _with_targets(flat, schema), "\n".join(shape.words)


_SHAPED = frozenset({"type", "properties", "required", "discriminator"})


class _Root(Struct):
    """The whole schema, and how many of its parts are still read: references can multiply them."""

    schema: Schema
    left: int = MOST_PARTS


class _Shape(Struct):
    """The objects that match a schema."""

    properties: Schema = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    is_closed: bool = False
    """Whether it permits no other properties."""
    label: str = ""
    words: list[str] = field(default_factory=list)
    """What its keywords say beyond that, in words."""


def _shape(schema: Schema, root: _Root, depth: int) -> _Shape:
    own = _own(schema)
    root.left -= 1
    if depth <= 0 or root.left <= 0:
        return own
    together = [_resolved(schema["$ref"], root.schema)] if "$ref" in schema else []
    together += _schemas(schema.get("allOf"))
    for part in (_shape(one, root, depth - 1) for one in together):
        own = _both(own, part)
    for keyword, words in _CHOICES.items():
        forms = [_shape(one, root, depth - 1) for one in _schemas(schema.get(keyword)) if _can_be_object(one)]
        if forms:
            own = _both(own, _either(forms, words))
    for keyword in ("not", "enum", "const"):
        if keyword in schema and len(written := _json({keyword: schema[keyword]})) <= LONGEST_WORDS:
            own.words.append(f"The arguments must fit {written}.")
    return own


_CHOICES = {
    "oneOf": "The arguments have exactly one of these forms:",
    "anyOf": "The arguments have at least one of these forms:",
}


def _own(schema: Schema) -> _Shape:
    properties, required = schema.get("properties"), schema.get("required")
    label = schema.get("title") or schema.get("description")
    return _Shape(
        properties=dict(properties) if isinstance(properties, dict) else {},
        required=[name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        is_closed=schema.get("additionalProperties") is False and isinstance(properties, dict),
        label=" ".join(label.split())[:100] if isinstance(label, str) else "",
    )


def _both(first: _Shape, second: _Shape) -> _Shape:
    """Return the shape of objects that match both."""
    properties = dict(first.properties)
    for name, member in second.properties.items():
        properties[name] = _narrowed(properties[name], member) if name in properties else member
    is_closed = all(shape.is_closed for shape in (first, second) if shape.properties)
    return _Shape(
        properties=properties,
        required=list(dict.fromkeys([*first.required, *second.required])),
        is_closed=is_closed and bool(properties),
        label=first.label or second.label,
        words=first.words + second.words,
    )


def _either(forms: Sequence[_Shape], words: str) -> _Shape:
    """Return the shape of objects that match one of the forms."""
    members: dict[str, list[Any]] = {}
    for form in forms:
        for name, member in form.properties.items():
            members.setdefault(name, []).append(member)
    first = forms[0]
    return _Shape(
        properties={name: _widened(found) for name, found in members.items()},
        required=[name for name in first.required if all(name in form.required for form in forms)],
        is_closed=all(form.is_closed for form in forms),
        words=[_in_words(words, forms)] if len(forms) > 1 else first.words,
    )


def _narrowed(first: Any, second: Any) -> Any:
    """Return the schema of a value that matches both."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second if first is True else first
    merged = {**second, **first}
    agree = all(merged[name] == value for name, value in second.items() if name not in _NOTES)
    return merged if agree else {"allOf": [first, second]}


_NOTES = frozenset({"title", "description", "default", "examples"})


def _widened(members: Sequence[Any]) -> Any:
    """Return the schema of a value that matches one of them."""
    different = _once(members)
    if len(different) == 1:
        return different[0]
    values = [_values(one) for one in different]
    if any(found is None for found in values):
        return {"anyOf": different}
    listed = [value for found in values for value in found or ()]
    merged: Schema = {name: value for name, value in different[0].items() if name in _NOTES}
    kinds = _once(one.get("type") for one in different)  # a list of types has no hash
    kind = kinds[0] if len(kinds) == 1 else None
    if kind is None and all(isinstance(value, str) for value in listed):
        kind = "string"
    return merged | ({"type": kind} if kind else {}) | {"enum": _once(listed)}


def _values(schema: Any) -> list[Any] | None:
    """Return the values that a schema lists, None if it says anything else about them."""
    if not isinstance(schema, dict) or not schema.keys() <= _NOTES | {"const", "enum", "type"}:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _once(values: Iterable[Any]) -> list[Any]:
    return list({_json(value): value for value in values}.values())


def _in_words(beginning: str, forms: Sequence[_Shape]) -> str:
    """Return the alternatives in words: each with its properties, and the values of those that it determines."""
    text, left = beginning, len(forms)
    for number, form in enumerate(forms, 1):
        line = f"\n{number}. {_form(form)}"
        if len(text) + len(line) > LONGEST_WORDS:
            break
        text, left = text + line, left - 1
    return f"{text}\n… and {left} more." if left else text


def _form(form: _Shape) -> str:
    names = dict.fromkeys([*form.required, *form.properties])
    said = [_member(name, form.properties.get(name), is_required=name in form.required) for name in names]
    text = ", ".join(said) or "any object"
    return "; ".join([f"{form.label}: {text}" if form.label else text, *form.words])


def _member(name: str, schema: Any, *, is_required: bool) -> str:
    values = _values(schema)
    is_short = values is not None and len(_json(values)) <= _LONGEST_VALUES
    text = f"{name} = {' or '.join(map(_json, values or ()))}" if values and is_short else name
    return text if is_required else f"{text} (optional)"


_LONGEST_VALUES = 200


def _can_be_object(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)


def _schemas(value: Any) -> list[Schema]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _resolved(reference: Any, root: Schema) -> Schema:
    """Return what a reference within the schema names; an empty schema if it names nothing."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    found: Any = root
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list):
            found = found[int(step)] if _INDEX.fullmatch(step) and int(step) < len(found) else None
        else:
            return {}
    return found if isinstance(found, dict) else {}


def _with_targets(flat: Schema, schema: Schema) -> Schema:
    """Return the schema with definitions in place of the alternatives that its references name."""
    encoded, given = _encoded(flat), flat.get("$defs")
    known = given if isinstance(given, dict) else {}
    named = set(_INTO_ROOT.findall(encoded))
    if not named:
        return flat
    while True:  # an alternative can name another
        targets = {
            f"{keyword.decode()}_{number.decode()}": _resolved(f"#/{keyword.decode()}/{number.decode()}", schema)
            for keyword, number in sorted(named)
        }
        encoded = _encoded({**flat, "$defs": {**known, **targets}})
        found = set(_INTO_ROOT.findall(encoded))
        if found <= named:
            break
        named |= found
    moved: Schema = _decoded(_INTO_ROOT.sub(rb'"$ref":"#/$defs/\1_\2', encoded))
    return moved


def _json(value: Any) -> str:
    return _encoded(value).decode()


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, which an application can pass
        return json.dumps(value, separators=(",", ":")).encode()


def _decoded(encoded: bytes) -> Any:
    try:
        return msgspec.json.decode(encoded)
    except msgspec.DecodeError:
        return json.loads(encoded)
