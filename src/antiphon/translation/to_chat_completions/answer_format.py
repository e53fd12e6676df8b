"""The format of an answer: `response_format` if the dialect has it, otherwise an instruction to the
model.
"""

from typing import Any

import msgspec

from antiphon.protocol.formats import JsonObjectFormat, JsonSchemaFormat
from antiphon.protocol.requests import TextConfig
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat_completions.schemas import ANY, projected

_ANY_OBJECT = {"type": "object"}
WITH_SCHEMA = frozenset({"json_schema", "json_object_schema"})
"""Types of `response_format` that have a schema."""


def response_format(text: TextConfig, dialect: Dialect) -> dict[str, Any] | None:
    """Return `response_format`, None if the answer is free text or the dialect cannot constrain it.

    A schema weakens to `json_object` if that is all the dialect has, and `json_object` becomes the
    schema of any object if it has only schemas.
    """
    wanted = text.format
    formats = _formats(dialect)
    if isinstance(wanted, JsonSchemaFormat) and "json_schema" in formats:
        return _schema(wanted, dialect)
    if isinstance(wanted, JsonSchemaFormat) and "json_object_schema" in formats:
        return {"type": "json_object", "schema": _fitting(wanted.schema, dialect)}
    if isinstance(wanted, JsonSchemaFormat | JsonObjectFormat) and "json_object" in formats:
        return {"type": "json_object"}
    if isinstance(wanted, JsonObjectFormat) and "json_schema" in formats:
        return _schema(JsonSchemaFormat(name="object", schema=_ANY_OBJECT), dialect)
    return None


def instruction(text: TextConfig, dialect: Dialect) -> str:
    """Return the format as an instruction to the model; empty if `response_format` contains it."""
    wanted = text.format
    formats = _formats(dialect)
    if isinstance(wanted, JsonSchemaFormat) and not formats & WITH_SCHEMA:
        schema = msgspec.json.encode(wanted.schema).decode()
        about = f" {wanted.description}" if wanted.description else ""
        return (
            f"Answer with one JSON object and nothing else.{about} It must fit this JSON "
            f"Schema:\n{schema}"
        )
    if isinstance(wanted, JsonObjectFormat) and not formats:
        return "Answer with one JSON object and nothing else."
    return ""


def _formats(dialect: Dialect) -> frozenset[str]:
    """Return the types of `response_format` that the backend accepts: none with a schema if it
    rejected every one.
    """
    if "response_format" not in dialect.accepts:
        return frozenset()
    return dialect.json_formats - WITH_SCHEMA if ANY in dialect.unfit else dialect.json_formats


def _fitting(schema: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    return projected(schema, dialect.unfit) if dialect.unfit else schema


def _schema(wanted: JsonSchemaFormat, dialect: Dialect) -> dict[str, Any]:
    schema: dict[str, Any] = {"name": wanted.name, "schema": _fitting(wanted.schema, dialect)}
    if wanted.description is not None:
        schema["description"] = wanted.description
    if wanted.strict is not None and dialect.strict:
        schema["strict"] = wanted.strict
    return {"type": "json_schema", "json_schema": schema}
