"""Values that match common JSON Schemas: `anyOf` uses the first branch; `pattern` and `format` are
ignored.
"""

import json
from typing import Any

from antiphon.protocol.validation import refusals

UNUSABLE = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""Errors while reading a schema that is invalid, too large or infinitely recursive."""

MOST = 1000
"""Values of a sample, and characters of a text: a schema of one line can require millions."""

DEEP = 3
"""Nested references beyond which optional parts are omitted: a schema can contain itself."""


def sample_json(schema: Any, param: str) -> str:
    """Return a value for a schema, as JSON. Raises `ClientError`, about `param`, if none is
    found.
    """
    try:
        return json.dumps(_Sampler(schema).value(schema, "example", 0))
    except UNUSABLE as error:
        raise refusals.invalid(
            param, f"demo cannot generate a value for a schema: {error}."
        ) from None


class _Sampler:
    """Generates values for `root` and the schemas in it."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """Return a value for the property `name`, `depth` references below the root."""
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it requires more than {MOST} values")
        match schema:
            case {"$ref": reference, **rest}:
                target = self._root
                for key in reference.split("/")[1:]:
                    target = target[key]
                return self.value({**target, **rest}, name, depth + 1)
            case {"const": value} | {"enum": [value, *_]}:
                return value
            case (
                {"anyOf": [*branches], **rest}
                | {"oneOf": [*branches], **rest}
                | {"allOf": [*branches], **rest}
            ):
                return self.value({**rest, **branches[-1 if depth > DEEP else 0]}, name, depth)
            case {"type": ["null", kind, *_], **rest} | {"type": [kind, *_], **rest}:
                return self.value({**rest, "type": kind}, name, depth)
            case {"type": "object"} | {"properties": _}:
                properties = schema.get("properties", {})
                names = schema.get("required") or (() if depth > DEEP else properties)
                return {one: self.value(properties.get(one, {}), str(one), depth) for one in names}
            case {"type": "array"} | {"items": _}:
                size = min(
                    max(int(depth <= DEEP), schema.get("minItems", 0)),
                    schema.get("maxItems", MOST),
                    MOST,
                )
                items = schema.get("prefixItems") or [schema.get("items", {})] * size
                return [self.value(one, name, depth) for one in items]
            case {"type": "integer" | "number"}:
                least = max(1, schema.get("minimum", 1), schema.get("exclusiveMinimum", 0) + 1)
                return min(
                    least,
                    schema.get("maximum", least),
                    schema.get("exclusiveMaximum", least + 1) - 1,
                )
            case {"type": "boolean" | "null" as kind}:
                return True if kind == "boolean" else None
            case {}:
                return name.ljust(min(schema.get("minLength", 0), MOST), ".")[
                    : schema.get("maxLength", MOST)
                ]
        return name  # `true`: any value
