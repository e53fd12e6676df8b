"""Gives the schema of a tool's arguments the root that every backend accepts: an object with
`properties`.

Clients and MCP servers send tools without a schema, and schemas with a choice (`oneOf`, `anyOf`), a
sum (`allOf`) or a reference at the root. Backends of many families reject the request with such a
tool (codex#37786, #36441, cc-switch#4705, #4783, #5357, grok2api#650; without properties:
osaurus#2847, copilot-cli#1825, mcptools#89).

`completed` adds what is missing and changes no meaning. `flattened` replaces a choice by one object
that has the properties of all alternatives, and describes the alternatives in words. It permits
whatever the client's schema permits, and arguments are still checked against that.
"""

import re
from itertools import islice
from typing import Any

from antiphon.translation.to_chat_completions.schema_reading import (
    Schema,
    SchemaBudget,
    SchemaReading,
    TooLarge,
    decoded,
    encoded,
)
from antiphon.translation.to_chat_completions.schema_shapes import COMBINED, resolved, shape
from antiphon.translation.to_chat_completions.schema_words import joined, rule

TOO_LARGE = "The arguments must also fit a schema that is too large to be shown here."

MOST_NAMES = 1_000
"""Properties that are named if a schema is not read."""

_INTO_ROOT = re.compile(rb'"\$ref":"#/(oneOf|anyOf|allOf)/(0|[1-9]\d{0,5})(?=["/])')
"""A reference into a part of the root that is replaced."""


def completed(schema: Schema) -> Schema:
    """Return the schema with the type and the properties of an object, the same one if it has them
    or is a choice.
    """
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


def flattened(schema: Schema, budget: SchemaBudget | None = None) -> tuple[Schema, str]:
    """Return a schema with an object at its root, and what the model must know in addition, empty
    for nothing.

    It has the properties of all alternatives, and requires those that each of them requires. A
    schema that is too large for the `budget` is only what its root itself says, and the words say
    so. The result has at most twice the bytes of the schema and its words, and `SPARE`.
    """
    if is_flat(schema):
        return completed(schema), ""
    budget = budget or SchemaBudget()
    half = budget.steps // 2
    reading = SchemaReading(schema, half)
    weaker = _named
    try:
        reading.begin()
        weaker = _outermost
        return _flattened(schema, reading)
    except (TooLarge, RecursionError):
        return weaker(schema), TOO_LARGE
    finally:
        budget.steps -= half - max(reading.steps, 0)


def _flattened(schema: Schema, reading: SchemaReading) -> tuple[Schema, str]:
    found = shape(schema, reading)
    if found is None:
        raise TooLarge
    if found.has_more and (others := found.rest.pop("unevaluatedProperties", True)) is not True:
        found.words[rule({"unevaluatedProperties": others}, reading)] = None
    for name in found.required:
        found.properties.setdefault(name, {})
    flat: Schema = {"type": "object", "properties": found.properties, **found.rest}
    if found.patterns:
        flat["patternProperties"] = found.patterns
    if found.required:
        flat["required"] = list(found.required)
    if schema.get("additionalProperties") is False or (
        found.is_closed and "additionalProperties" not in flat
    ):
        flat["additionalProperties"] = False
    return _with_targets(flat, schema, reading), joined(found.words)


def _outermost(schema: Schema) -> Schema:
    """Return what a schema says without its choices and references, or only its names if it refers
    to these.
    """
    omitted = COMBINED | {"discriminator", "unevaluatedProperties"}
    flat = completed({name: value for name, value in schema.items() if name not in omitted})
    try:
        return _named(schema) if _INTO_ROOT.search(encoded(flat)) else flat
    except RecursionError:
        return _named(schema)


def _named(schema: Schema) -> Schema:
    """Return an object that has the names and descriptions of a schema's first properties, and
    permits any other.
    """
    properties = schema.get("properties")
    members = properties.items() if isinstance(properties, dict) else ()
    return {
        "type": "object",
        "properties": {name: _described(one) for name, one in islice(members, MOST_NAMES)},
    }


def _described(member: Any) -> Schema:
    text = member.get("description") if isinstance(member, dict) else None
    return {"description": text} if isinstance(text, str) else {}


def _with_targets(flat: Schema, schema: Schema, reading: SchemaReading) -> Schema:
    """Return the schema with definitions in place of the alternatives that its references name."""
    text = encoded(flat)
    pending = _INTO_ROOT.findall(text)
    if not pending:
        return flat
    provided = flat.get("$defs")
    known = provided if isinstance(provided, dict) else {}
    targets: dict[tuple[bytes, bytes], tuple[str, Schema]] = {}
    while pending:  # an alternative can name another
        place = pending.pop()
        reading.take(1)
        if place in targets:
            continue
        keyword, number = (one.decode() for one in place)
        name = f"{keyword}_{number}"
        while name in known:
            name += "_"
        targets[place] = name, resolved(f"#/{keyword}/{number}", schema)
        inner = encoded(targets[place][1])
        reading.take(len(inner) // 200)
        pending += _INTO_ROOT.findall(inner)
    text = encoded(
        {**flat, "$defs": {**known, **dict(targets[place] for place in sorted(targets))}}
    )
    reading.take(len(text) // 100)
    moved: Schema = decoded(
        _INTO_ROOT.sub(lambda found: b'"$ref":"#/$defs/' + _name(targets, found), text)
    )
    return moved


def _name(targets: dict[tuple[bytes, bytes], tuple[str, Schema]], found: re.Match[bytes]) -> bytes:
    return targets[found[1], found[2]][0].encode()
