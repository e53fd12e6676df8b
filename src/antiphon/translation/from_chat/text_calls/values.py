"""Arguments of calls: JSON as models write it, and strings with types from a schema."""

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    RawCall,
    TextCall,
    UnfinishedError,
)
from antiphon.translation.from_chat.text_filters import repaired

MAX_LEVELS = 32
"""Nested references and unions that are followed in a schema."""


def _no_number(name: str) -> NoReturn:
    raise NoCallError(f"{name} is not JSON.")


# Not strict: models write unescaped line breaks inside strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_number)


def decode_at(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value that begins at `at`, and where it ends.

    Raises `NoCallError` or `UnfinishedError`.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        is_short = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
        raise (UnfinishedError if is_short else NoCallError)(error.msg) from error
    except (ValueError, RecursionError) as error:
        raise NoCallError(str(error)) from error


def finished(call: RawCall, offers: Offers) -> TextCall:
    """Return the call with its arguments as JSON. Raises `NoCallError` if the tool is not
    offered.
    """
    name = call.name if call.name in offers else call.name.removeprefix("functions.")
    if name not in offers:
        raise NoCallError(f"'{name}' is not offered.")
    return TextCall(
        name, _encoded(_as_object(call.arguments, is_custom=offers[name].kind == "custom"))
    )


def _as_object(arguments: Any, *, is_custom: bool) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            value, end = decode_at(arguments.strip() or "{}", 0)
        except NoCallError:
            value = None
            end = 0
        if isinstance(value, dict) and end == len(arguments.strip() or "{}"):
            arguments = value
        elif is_custom:
            arguments = {"input": arguments}
    if not isinstance(arguments, dict):
        raise NoCallError("The arguments are not an object.")
    return arguments


def _encoded(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(repaired(arguments), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NoCallError(str(error)) from error


# Values that a format has only as text.


def typed_arguments(pairs: list[tuple[str, str]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that arrived as text, converted by the types in the tool's schema."""
    return {name: typed(text, property_of(parameters, name), parameters) for name, text in pairs}


def property_of(parameters: Mapping[str, Any], name: str) -> Any:
    """Return the schema of one argument, empty without one."""
    properties = parameters.get("properties")
    return properties.get(name, {}) if isinstance(properties, dict) else {}


def typed(text: str, schema: Any, root: Mapping[str, Any]) -> Any:
    """Return the value of `text` by `schema`: JSON, or Python's spelling of it, if a non-string
    type matches.

    Text that matches no other type of the schema stays text: the client sees what is wrong with it.
    Without a schema an object or an array is JSON, and anything else is text.
    """
    types = frozenset(_types(schema, root)) or frozenset({"object", "array", "string"})
    if types == {"string"}:
        return text
    value = _literal(text)
    return value if _type_names(value) & types else text


def _literal(text: str) -> Any:
    text = text.strip()
    try:
        value, end = decode_at(text, 0)
        if end == len(text):
            return value
    except NoCallError:
        pass
    try:
        return ast.literal_eval(text) if len(text) <= 10_000 else text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _type_names(value: Any) -> frozenset[str]:
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number", "integer"} if value.is_integer() else {"number"})
        case list():
            return frozenset({"array"})
        case dict():
            return frozenset({"object"})
    return frozenset()


def _types(schema: Any, root: Mapping[str, Any], levels: int = MAX_LEVELS) -> Iterator[str]:
    """Yield the types that a schema allows; a value of `enum` or `const` implies its own."""
    if not isinstance(schema, dict) or not levels:
        return
    named = schema.get("type")
    yield from (
        each for each in (named if isinstance(named, list) else [named]) if isinstance(each, str)
    )
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if named is None and isinstance(values, list):
        for value in values:
            yield from _type_names(value) or ("string",)
    for union in ("anyOf", "oneOf", "allOf"):
        inner = schema.get(union)
        for each in inner if isinstance(inner, list) else ():
            yield from _types(each, root, levels - 1)
    if isinstance(reference := schema.get("$ref"), str):
        yield from _types(_resolved(reference, root), root, levels - 1)


def _resolved(reference: str, root: Any) -> Any:
    value = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        value = value.get(step) if isinstance(value, dict) else None
    return value
