"""An example of a JSON Schema: a value that fits it, with a word of the user's where any string will do."""

import math
import re
from typing import Any

MAX_DEPTH = 12
"""Levels below which a schema that refers to itself gives no more optional parts."""

FORMATS = {
    "date": "2026-11-20",
    "date-time": "2026-11-20T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "demo@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def example_of(schema: Any, text: str = "") -> Any:
    """Return a value that fits the schema; `text` lends a word to free strings.

    What JSON Schema can say and no example tells easily (`not`, `if`, `patternProperties`, most patterns) is left out
    of account.
    """
    return _Example(schema, text).value(schema, 0)


class _Example:
    def __init__(self, root: Any, text: str) -> None:
        self._root = root
        self._words: list[str] = [word for word in re.findall(r"[^\W_]+", text) if len(word) > 3][-1:] or ["example"]

    def value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return {} if schema is not False else None
        schema = self._resolved(schema, depth)
        for name in ("const", "default"):
            if name in schema:
                return schema[name]
        if schema.get("enum"):
            return schema["enum"][0]
        for name in ("anyOf", "oneOf"):
            if schema.get(name):
                return self._one_of(schema, schema[name], depth)
        return self._of_type(schema, depth)

    def _resolved(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return the schema with its reference and `allOf` folded in."""
        seen = 0
        while "$ref" in schema and seen < MAX_DEPTH:
            seen += 1
            schema = {**self._find(schema["$ref"]), **{name: schema[name] for name in schema if name != "$ref"}}
        for part in schema.get("allOf") or ():
            schema = _merged(schema, self._resolved(part, depth + 1) if depth < MAX_DEPTH else part)
        return schema

    def _find(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for name in reference.lstrip("#/").split("/") if reference != "#" else ():
            name = name.replace("~1", "/").replace("~0", "~")
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, dict) else {}

    def _one_of(self, schema: dict[str, Any], choices: list[Any], depth: int) -> Any:
        # The last choice is the usual place of `null`, which ends a schema that refers to itself.
        choice = choices[-1] if depth >= MAX_DEPTH else choices[0]
        rest = {name: value for name, value in schema.items() if name not in {"anyOf", "oneOf"}}
        return self.value(_merged(rest, choice) if isinstance(choice, dict) else rest, depth + 1)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type") or _told_by(schema)
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._string(schema)
            case "integer" | "number":
                return _number(schema, kind == "integer")
            case "boolean":
                return True
            case _:
                return None

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        wanted = required if depth >= MAX_DEPTH else dict.fromkeys([*properties, *required])
        example = {name: self.value(properties.get(name, {"type": "string"}), depth + 1) for name in wanted}
        for number in range(len(example), schema.get("minProperties", 0)):
            example[f"property{number}"] = self.value(schema.get("additionalProperties", {"type": "string"}), depth + 1)
        return example

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        first = [self.value(item, depth + 1) for item in schema.get("prefixItems") or ()]
        least = schema.get("minItems", 0)
        size = max(least, 0 if depth >= MAX_DEPTH or schema.get("maxItems") == 0 else 1)
        items = schema.get("items", {"type": "string"})
        rest = [self._item(items, number, schema, depth) for number in range(len(first), size)]
        return first + rest

    def _item(self, items: Any, number: int, schema: dict[str, Any], depth: int) -> Any:
        value = self.value(items, depth + 1)
        if not schema.get("uniqueItems") or number == 0:
            return value
        if isinstance(items, dict) and items.get("enum"):
            return items["enum"][number % len(items["enum"])]
        return value + number if isinstance(value, int | float) else f"{value}{number}"

    def _string(self, schema: dict[str, Any]) -> str:
        if schema.get("format") in FORMATS:
            return FORMATS[str(schema["format"])]
        text: str = self._words[0]
        if pattern := schema.get("pattern"):
            text = _fitting(pattern, text)
        text = text.ljust(int(schema.get("minLength", 0)), "x")
        return text[: int(schema.get("maxLength", len(text)))]


def _number(schema: dict[str, Any], whole: bool) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    step = schema.get("multipleOf") or 1
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + (step if whole or "multipleOf" in schema else 0.5)
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - (step if whole or "multipleOf" in schema else 0.5)
    if low is not None and high is not None and low > high:
        low = high = (low + high) / 2
    value = low if low is not None else min(step, high) if high is not None else step
    if "multipleOf" in schema:
        value = math.ceil(value / step) * step
    return math.ceil(value) if whole else value


def _told_by(schema: dict[str, Any]) -> str:
    """Return the type that a schema without one means by its other words."""
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    if {"minimum", "maximum", "multipleOf"} & schema.keys():
        return "number"
    return "string"


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    merged = {**first, **second}
    for name in ("properties", "$defs"):
        if name in first and name in second:
            merged[name] = {**first[name], **second[name]}
    if "required" in first and "required" in second:
        merged["required"] = [*first["required"], *second["required"]]
    merged.pop("allOf", None)
    return merged


def _fitting(pattern: str, text: str) -> str:
    """Return a text that a simple pattern takes, else the given one: no pattern is run, some never end."""
    simple = re.fullmatch(r"\^?(?:\[([^\]\\^-])[^\]]*\]|(\\d)|(\\w))(?:[+*]|\{(\d+)(?:,\d*)?\})?\$?", pattern)
    if simple is None:
        return text
    letter = simple[1] or ("1" if simple[2] else "x")
    return letter * int(simple[4] or 1)
