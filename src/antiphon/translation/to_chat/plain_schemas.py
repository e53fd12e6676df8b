"""The plainest form of a tool's schema: the keywords that every backend accepts, and all others in words.

It is for a tool that a backend refused, and arguments are still checked against the client's schema. It permits
whatever the schema permits. What a keyword says is added to the description next to it, so that the model reads it.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from antiphon.translation.to_chat.schema_shapes import resolved
from antiphon.translation.to_chat.schema_words import PLACES
from antiphon.translation.to_chat.schemas import Schema, noted

MOST_PARTS = 2_000
"""Subschemas that are read; the others permit anything."""

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_KEPT = frozenset({"type", "properties", "required", "items", "enum", "description"})
_UNSAID = PLACES | {"title", "examples", "$ref", "$dynamicRef"}
"""Keywords that say nothing to a model that reads one description."""


def digest_of(schema: Schema) -> str:
    """Return the digest of a schema: 16 hexadecimal digits, the same for any order of its keys."""
    return sha256(msgspec.json.encode(schema, order="deterministic")).hexdigest()[:16]


def plain(schema: Schema) -> Schema:
    """Return the plainest form of the schema of a tool's arguments: an object, with its properties.

    >>> plain({"type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 1}}})["properties"]
    {'n': {'type': 'integer', 'description': 'Must fit {"type":["integer","null"],"minimum":1}.'}}
    """
    root: Schema = {}
    pending: list[_Part] = [(schema, root, ())]
    for part in pending:
        _fill(*part, schema, pending)
    return {"properties": {}, **root, "type": "object"}


_Part = tuple[Schema, Schema, tuple[str, ...]]
"""A subschema, its copy, and the references that led to it."""


def _fill(given: Schema, copy: Schema, trail: tuple[str, ...], root: Schema, pending: list[_Part]) -> None:
    """Write the plainest form of a subschema to its `copy`; those inside it are `pending`."""
    node, trail = _target(given, trail, root)
    lost = {name: value for name, value in node.items() if name not in _KEPT | _UNSAID and not _closes(name, value)}
    node, trail = _target(_only_form(node), trail, root)

    def later(inner: Any) -> Schema:
        made: Schema = {}
        if isinstance(inner, dict) and len(pending) < MOST_PARTS:
            pending.append((inner, made, trail))
        return made

    values = [lost.pop("const")] if "const" in lost else node.get("enum")
    kind = _type(node.get("type", _type_of(values)))
    if kind:
        copy["type"] = kind
    if kind != node.get("type") and "type" in node:
        lost = {"type": node["type"], **lost}
    members, required = node.get("properties"), node.get("required")
    if isinstance(members, dict):
        copy["properties"] = {name: later(member) for name, member in members.items()}
        if isinstance(required, list) and (names := [name for name in required if name in members]):
            copy["required"] = names
    if kind == "array":
        copy["items"] = later(node.get("items"))
    if _are_texts(values):
        copy["enum"] = values
    elif values is not None:
        lost["enum"] = values
    said = next((text for one in (given, node) if isinstance(text := one.get("description"), str)), "")
    if text := " ".join(filter(None, (said, noted(lost)))):
        copy["description"] = text


def _target(node: Schema, trail: tuple[str, ...], root: Schema) -> tuple[Schema, tuple[str, ...]]:
    """Return what a subschema with a reference stands for, and the references that led there."""
    reference = node.get("$ref")
    if not isinstance(reference, str) or reference in trail:
        return node, trail
    return {**resolved(reference, root), **{name: node[name] for name in node if name != "$ref"}}, (*trail, reference)


def _only_form(node: Schema) -> Schema:
    """Return a subschema with the keywords of its only alternative: a value that can be null has one."""
    for keyword in ("anyOf", "oneOf", "allOf"):
        forms = node.get(keyword)
        if isinstance(forms, list):
            forms = [one for one in forms if isinstance(one, dict) and one.get("type") != "null"]
            if len(forms) == 1:
                return {**node, **forms[0]}
    return node


def _type(kinds: Any) -> str:
    """Return the type, the only one besides `null` of several; empty if no type is known."""
    known = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(one, str) and one in _TYPES]
    return known[0] if len(known) == 1 else ""


def _closes(name: str, value: Any) -> bool:
    """Whether a keyword only permits or forbids further properties: the arguments are checked for them."""
    return name == "additionalProperties" and isinstance(value, bool)


def _type_of(values: Any) -> str:
    """Return the type of listed values; empty if they have several."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    return _NAMES.get(kinds.pop(), "") if len(kinds) == 1 else ""


_NAMES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(one, str) and one for one in values)
