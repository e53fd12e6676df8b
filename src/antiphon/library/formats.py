"""From a class of the program to the schema of an answer, and from the text of the answer to an
object of the class.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from antiphon.protocol.items.content import OutputText
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import Response
from antiphon.protocol.results import ParsedResponse

T = TypeVar("T")


def with_format(text: Mapping[str, Any] | None, kind: type[Any]) -> dict[str, Any]:
    """Return the parameter `text` with the strict schema of a class.

    Raises `TypeError` for a type that is not a class with fields, and if `text` has a format
    already.
    """
    if text and "format" in text:
        raise TypeError("Pass either `text_format` or a format in `text`.")
    name = getattr(kind, "__name__", "answer")
    schema = _strict(_schema_of(kind))
    return {
        **(text or {}),
        "format": {"type": "json_schema", "name": name, "schema": schema, "strict": True},
    }


def parsed(response: Response, kind: type[T]) -> ParsedResponse[T]:
    """Return a response with the object that its last message is.

    The object is None if the response is not complete, or has no text. Raises `ValueError`, of
    msgspec or pydantic, for a text that does not fit the class.
    """
    fields = {name: getattr(response, name) for name in response.__struct_fields__}
    text = _last_text(response) if response.status == "completed" else ""
    return ParsedResponse(**fields, output_parsed=_object_of(text, kind) if text else None)


def _last_text(response: Response) -> str:
    messages = [item for item in response.output if isinstance(item, Message)]
    parts = messages[-1].content if messages else []
    return (
        parts
        if isinstance(parts, str)
        else "".join(part.text for part in parts if isinstance(part, OutputText))
    )


def _object_of(text: str, kind: type[T]) -> T:
    of_pydantic = getattr(kind, "model_validate_json", None)
    created: T = msgspec.json.decode(text, type=kind) if of_pydantic is None else of_pydantic(text)
    return created


def _schema_of(kind: type[Any]) -> dict[str, Any]:
    """Return the schema of a model of pydantic, or of any class that msgspec reads, with the object
    at its root.
    """
    of_pydantic = getattr(kind, "model_json_schema", None)
    schema: dict[str, Any] = msgspec.json.schema(kind) if of_pydantic is None else of_pydantic()
    if "$ref" in schema:
        definitions = schema["$defs"]
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], "$defs": definitions}
    if schema.get("type") != "object" or "properties" not in schema:
        raise TypeError(
            f"{kind!r} is not a class with fields, such as a dataclass, a msgspec.Struct or a "
            "model of pydantic."
        )
    return schema


_IN_MAPS = ("$defs", "properties")
_IN_LISTS = ("anyOf", "oneOf", "prefixItems")
_ALONE = ("additionalProperties", "items")
"""Keywords that hold schemas: by name, in a list, alone."""


def _strict(schema: Any) -> Any:
    """Return a schema by the rules of strict ones: objects are closed and all their properties are
    required.
    """
    if not isinstance(schema, dict):
        return schema
    created = {name: value for name, value in schema.items() if name != "default"}
    created |= {
        name: {key: _strict(one) for key, one in created[name].items()}
        for name in _IN_MAPS
        if name in created
    }
    created |= {
        name: [_strict(one) for one in created[name]] for name in _IN_LISTS if name in created
    }
    created |= {name: _strict(created[name]) for name in _ALONE if name in created}
    if created.get("type") == "object":
        created = {
            "additionalProperties": False,
            **created,
            "required": list(created.get("properties", ())),
        }
    if (
        "$ref" in created and len(created) > 1
    ):  # OpenAI rejects a reference with a description next to it
        created = {"anyOf": [{"$ref": created.pop("$ref")}], **created}
    return created
