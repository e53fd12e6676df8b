"""The plainest form of a tool's schema: the keywords that every backend accepts, and all others in
words.

It is for a tool that a backend refused, and arguments are still checked against the client's
schema. It permits whatever the schema permits. What a keyword says is added to the description next
to it, so that the model reads it.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, field

from antiphon.translation.to_chat_completions.schema_reading import TooLarge
from antiphon.translation.to_chat_completions.schema_shapes import resolved
from antiphon.translation.to_chat_completions.schema_words import PLACES
from antiphon.translation.to_chat_completions.schemas import Schema, noted

LARGEST = 100_000
"""Bytes of a schema that has a plainest form."""

MOST_EXPANDED = 200_000
"""Bytes of the definitions that take the place of references to them; a schema with more has no
plainest form.
"""

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_STORED = frozenset({"type", "properties", "required", "items", "enum", "description"})
_UNSTATED = PLACES | {"title", "examples", "$ref", "$dynamicRef"}
"""Keywords that say nothing to a model that reads one description."""


def digest_of(schema: Schema) -> str:
    """Return the digest of a schema: 16 hexadecimal digits, the same for any order of its keys."""
    return sha256(msgspec.json.encode(schema, order="deterministic")).hexdigest()[:16]


def plain(schema: Schema) -> Schema | None:
    """Return the plainest form of the schema of a tool's arguments, an object with its properties; None if too large.

    >>> plain({"type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 1}}})["properties"]
    {'n': {'type': 'integer', 'description': 'Must fit {"type":["integer","null"],"minimum":1}.'}}
    """  # noqa: E501 - a table, a diagram or an example
    if len(msgspec.json.encode(schema)) > LARGEST:
        return None
    work = _Work(schema)
    root: Schema = {}
    work.pending.append((schema, root, ()))
    try:
        for part in work.pending:
            _fill(*part, work)
    except TooLarge:
        return None
    return {"properties": {}, **root, "type": "object"}


_Part = tuple[Schema, Schema, tuple[str, ...]]
"""A subschema, its copy, and the references that led to it."""


class _Work(Struct):
    """What is left to do for one schema."""

    root: Schema
    pending: list[_Part] = field(default_factory=list)
    left: int = MOST_EXPANDED
    sizes: dict[str, int] = field(default_factory=dict)
    """The bytes of each definition, by the references to it."""

    def target(self, node: Schema, trail: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        """Return what a subschema with a reference stands for, and the references that led there.

        Raises `TooLarge`.
        """
        reference = node.get("$ref")
        if not isinstance(reference, str) or reference in trail:
            return node, trail
        found = resolved(reference, self.root)
        if reference not in self.sizes:
            self.sizes[reference] = len(msgspec.json.encode(found)) + len(reference)
        self.left -= self.sizes[reference]
        if self.left < 0:
            raise TooLarge
        return {**found, **{name: node[name] for name in node if name != "$ref"}}, (
            *trail,
            reference,
        )


def _fill(schema: Schema, copy: Schema, trail: tuple[str, ...], work: _Work) -> None:
    """Write the plainest form of a subschema to its `copy`; those inside it are pending.

    Raises `TooLarge`.
    """
    node, trail = work.target(schema, trail)
    lost = {
        name: value
        for name, value in node.items()
        if name not in _STORED | _UNSTATED and not _closes(name, value)
    }
    node, trail = work.target(_only_form(node), trail)

    def later(inner: Any) -> Schema:
        created: Schema = {}
        if isinstance(inner, dict):
            work.pending.append((inner, created, trail))
        return created

    values = [lost.pop("const")] if "const" in lost else node.get("enum")
    kind = _type(node.get("type", _type_of(values)))
    if kind:
        copy["type"] = kind
    if kind != node.get("type") and "type" in node:
        lost = {"type": node["type"], **lost}
    members = node.get("properties")
    required = node.get("required")
    items = node.get("items")
    if isinstance(members, dict):
        copy["properties"] = {name: later(member) for name, member in members.items()}
        names = required if isinstance(required, list) else ()
        if names := [name for name in names if isinstance(name, str) and name in members]:
            copy["required"] = names
    if kind == "array":
        copy["items"] = later(items)
    if items is not None and not (kind == "array" and isinstance(items, dict)):
        lost["items"] = items
    if _are_texts(values):
        copy["enum"] = values
    elif values is not None:
        lost["enum"] = values
    stated = next(
        (text for one in (schema, node) if isinstance(text := one.get("description"), str)), ""
    )
    if text := " ".join(filter(None, (stated, noted(lost)))):
        copy["description"] = text


def _only_form(node: Schema) -> Schema:
    """Return a subschema with the keywords of its only alternative: a value that can be null has
    one.
    """
    for keyword in ("anyOf", "oneOf", "allOf"):
        forms = node.get(keyword)
        if isinstance(forms, list):
            forms = [
                one for one in forms if not (isinstance(one, dict) and one.get("type") == "null")
            ]
            if len(forms) == 1 and isinstance(forms[0], dict):
                return {**node, **forms[0]}
    return node


def _type(kinds: Any) -> str:
    """Return the type, the only one besides `null` of several; empty if no type is known."""
    known = [
        one
        for one in (kinds if isinstance(kinds, list) else [kinds])
        if isinstance(one, str) and one in _TYPES
    ]
    return known[0] if len(known) == 1 else ""


def _closes(name: str, value: Any) -> bool:
    """Whether a keyword only permits or forbids further properties: the arguments are checked for
    them.
    """
    return name == "additionalProperties" and isinstance(value, bool)


def _type_of(values: Any) -> str:
    """Return the type of listed values; empty if they have several."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    return _NAMES.get(kinds.pop(), "") if len(kinds) == 1 else ""


_NAMES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _are_texts(values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(one, str) and one for one in values)
    )
