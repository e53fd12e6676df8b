"""Whether a value fits a JSON Schema, as far as the schemas of the cases go."""

from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the value fits; `type`, `enum`, `properties`, `required`, `additionalProperties` and `items` are read."""
    if not schema:  # nothing is asked, so what is nested too deeply is not gone into
        return True
    if "type" in schema and type(value) not in TYPES[schema["type"]]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list):
        return all(fits(item, schema.get("items", {})) for item in value)
    return True


def _object_fits(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if not value.keys() >= set(schema.get("required", ())):
        return False
    if schema.get("additionalProperties") is False and not value.keys() <= properties.keys():
        return False
    return all(fits(one, properties.get(name, {})) for name, one in value.items())
