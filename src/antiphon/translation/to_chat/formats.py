"""The form of the answer: as `response_format` where the dialect has it, in words where it has not."""

from typing import Any

import msgspec

from antiphon.protocol.formats import JsonObjectFormat, JsonSchemaFormat
from antiphon.protocol.requests import TextConfig
from antiphon.translation.dialects import Dialect

ANY_OBJECT = {"type": "object"}


def response_format(text: TextConfig | None, dialect: Dialect) -> dict[str, Any] | None:
    """Return `response_format`, None where the answer is free text or the dialect cannot constrain it.

    A schema weakens to `json_object` where that is all the dialect has, and `json_object` becomes the schema of any
    object where it has only schemas.
    """
    wanted = text.format if text else None
    if "response_format" not in dialect.accepts:
        return None
    if isinstance(wanted, JsonSchemaFormat) and "json_schema" in dialect.json_formats:
        return _schema(wanted, dialect)
    if isinstance(wanted, JsonSchemaFormat) and "json_object_schema" in dialect.json_formats:
        return {"type": "json_object", "schema": wanted.schema}
    if isinstance(wanted, JsonSchemaFormat | JsonObjectFormat) and "json_object" in dialect.json_formats:
        return {"type": "json_object"}
    if isinstance(wanted, JsonObjectFormat) and "json_schema" in dialect.json_formats:
        return _schema(JsonSchemaFormat(name="object", schema=ANY_OBJECT), dialect)
    return None


def instruction(text: TextConfig | None, dialect: Dialect) -> str:
    """Return what to tell the model because `response_format` does not say it; empty where it does."""
    wanted = text.format if text else None
    formats = dialect.json_formats if "response_format" in dialect.accepts else frozenset()
    if isinstance(wanted, JsonSchemaFormat) and not formats & {"json_schema", "json_object_schema"}:
        schema = msgspec.json.encode(wanted.schema).decode()
        about = f" {wanted.description}" if wanted.description else ""
        return f"Answer with one JSON object and nothing else.{about} It must fit this JSON Schema:\n{schema}"
    if isinstance(wanted, JsonObjectFormat) and not formats:
        return "Answer with one JSON object and nothing else."
    return ""


def _schema(wanted: JsonSchemaFormat, dialect: Dialect) -> dict[str, Any]:
    schema: dict[str, Any] = {"name": wanted.name, "schema": wanted.schema}
    if wanted.description is not None:
        schema["description"] = wanted.description
    if wanted.strict is not None and dialect.strict:
        schema["strict"] = wanted.strict
    return {"type": "json_schema", "json_schema": schema}
