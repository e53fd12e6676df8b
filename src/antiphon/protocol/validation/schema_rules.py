"""The requirements on a JSON Schema in a request, checked without following a reference or running
a regular expression.

The API's rules for strict schemas, in its own words (recorded from OpenAI): every object closed and
every property required, a type everywhere, and no keyword that constrained decoding cannot honour.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from antiphon.errors import ClientError
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.tools import FunctionTool
from antiphon.protocol.validation.refusals import quoted

Place = tuple["Place", str] | None
"""The position of a subschema: the position around it and its own key; None is the root. Linked, so
that depth is cheap.
"""

MAX_PROPERTIES = 5000
"""Properties of a strict schema, all levels together."""

MAX_STRICT_DEPTH = 100
"""Levels of a strict schema. OpenAI allows 10; grammar compilers of backends support more, but not
any number.
"""

NOT_PERMITTED = (
    "allOf",
    "not",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "patternProperties",
)

_INDEX = re.compile(r"[0-9]{1,9}")
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_UNTYPED = ("$ref", "anyOf", "oneOf", "enum", "const")


class _SchemaError(Exception):
    """What is wrong with a schema, in the API's words."""


def check_function_schema(tool: FunctionTool, path: str) -> None:
    """Raise `ClientError` with code `invalid_function_parameters` if the tool's `parameters`
    violate a rule.
    """
    if tool.parameters is None:
        return
    try:
        _check(tool.parameters, strict=tool.strict is True)
    except _SchemaError as wrong:
        raise ClientError(
            f"Invalid schema for function '{tool.name}': {wrong}",
            code="invalid_function_parameters",
            param=f"{path}.parameters",
        ) from None


def check_text_schema(format: JsonSchemaFormat) -> None:
    """Raise `ClientError` with code `invalid_json_schema` if the format's `schema` violates a
    rule.
    """
    try:
        _check(format.schema, strict=format.strict is True)
    except _SchemaError as wrong:
        raise ClientError(
            f"Invalid schema for response_format '{format.name}': {wrong}",
            code="invalid_json_schema",
            param="text.format.schema",
        ) from None


def _check(schema: dict[str, Any], *, strict: bool) -> None:
    kind = schema.get("type")
    if kind != "object" and (strict or kind is not None):
        raise _SchemaError(
            f"""schema must be a JSON Schema of 'type: "object"', got 'type: "{quoted(kind)}"'."""
        )
    properties = 0
    for depth, place, node in _nodes(schema):
        _check_reference(place, node, schema if strict else None)
        if strict:
            _check_strict(place, node)
            properties += len(_members(node, "properties"))
            if properties > MAX_PROPERTIES:
                raise _SchemaError(f"expected at most {MAX_PROPERTIES} properties in all.")
            if depth > MAX_STRICT_DEPTH:
                raise _SchemaError(
                    f"nested too deeply. Expected at most {MAX_STRICT_DEPTH} levels."
                )


def _nodes(schema: dict[str, Any]) -> Iterator[tuple[int, Place, dict[str, Any]]]:
    """Yield each subschema with its depth and position, outer ones first. Data inside `enum`,
    `default` … is not a schema.
    """
    pending: list[tuple[int, Place, dict[str, Any]]] = [(0, None, schema)]
    for depth, place, node in pending:
        yield depth, place, node
        for key, value in node.items():
            if key in _DATA:
                continue
            if type(value) is dict and key not in _MAPS:
                pending.append((depth + 1, (place, key), value))
            elif type(value) is dict or type(value) is list:
                members = value.items() if type(value) is dict else enumerate(value)
                within = (place, key)
                pending += [(depth + 1, (within, str(k)), v) for k, v in members if type(v) is dict]


def _check_reference(place: Place, node: dict[str, Any], root: dict[str, Any] | None) -> None:
    """Reject a `$ref` that leads out of the schema; if `root` is set, also one that leads nowhere
    in it.
    """
    target = node.get("$ref")
    if target is None:
        return
    if type(target) is not str or not target.startswith("#"):
        raise _SchemaError(
            f"{_at(place)}$ref must point into the schema itself, got '{quoted(target)}'."
        )
    if root is not None and not _leads_somewhere(root, target):
        raise _SchemaError(f"{_at(place)}reference '{quoted(target)}' not found.")


def _leads_somewhere(root: Any, target: str) -> bool:
    if target != "#" and not target.startswith("#/"):
        return True  # an anchor, which the backend can know
    node = root
    for step in unquote(target).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if type(node) is dict and key in node:
            node = node[key]
        elif type(node) is list and _INDEX.fullmatch(key) and int(key) < len(node):
            node = node[int(key)]
        else:
            return False
    return True


def _check_strict(place: Place, node: dict[str, Any]) -> None:
    for keyword in NOT_PERMITTED:
        if keyword in node:
            raise _SchemaError(f"{_at(place)}'{keyword}' is not permitted.")
    kind = node.get("type")
    if kind is None and not any(keyword in node for keyword in _UNTYPED):
        raise _SchemaError(f"{_at(place)}schema must have a 'type' key.")
    kinds = kind if type(kind) is list else [kind]
    if "object" in kinds:
        _check_strict_object(place, node)
    if "array" in kinds and "items" not in node and "prefixItems" not in node:
        raise _SchemaError(f"{_at(place)}array schema missing items.")


def _check_strict_object(place: Place, node: dict[str, Any]) -> None:
    if node.get("additionalProperties") is not False:
        raise _SchemaError(
            f"{_at(place)}'additionalProperties' is required to be supplied and to be false."
        )
    for keyword, kind, noun in (("properties", dict, "an object"), ("required", list, "an array")):
        if not isinstance(node.get(keyword, kind()), kind):
            raise _SchemaError(f"{_at(place)}'{keyword}' must be {noun}.")
    required = {name for name in node.get("required", ()) if type(name) is str}
    missing = next((name for name in _members(node, "properties") if name not in required), None)
    if missing is not None:
        raise _SchemaError(
            f"{_at(place)}'required' is required to be supplied and to be an array including every "
            f"key in properties. Missing '{quoted(missing)}'."
        )


def _members(node: dict[str, Any], keyword: str) -> dict[str, Any]:
    """Return the subschemas under a keyword; none if it has anything but an object."""
    members = node.get(keyword)
    return members if type(members) is dict else {}


def _at(place: Place) -> str:
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append(quoted(key))
    return f"In context={tuple(reversed(keys))}, "
