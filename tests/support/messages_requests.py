"""Requests of the Messages API, as the translation reads them."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.messages.decoding import decode_count, decode_create
from antiphon.protocol.messages.requests import Conversation
from antiphon.translation.from_messages.request import Translated, read_request
from antiphon.translation.from_messages.view import Call

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501 - one text, or a row of a table


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def assistant(*content: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content[0] if isinstance(content[0], str) else [*content],
    }


def system(*content: Any, **more: Any) -> dict[str, Any]:
    return {
        "role": "system",
        "content": content[0] if content and isinstance(content[0], str) else [*content],
        **more,
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(data: str = PNG, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def use(call_id: str = "toolu_1", name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str = "toolu_1", content: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def tool(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": SCHEMA, **more}


def decoded(*messages: dict[str, Any], is_count: bool = False, **fields: Any) -> Conversation:
    """A request with these messages; `Hi` without any."""
    body = {"model": "m", "max_tokens": 100, "messages": [*messages] or [user("Hi")], **fields}
    raw = json.dumps(body).encode()
    return decode_count(raw) if is_count else decode_create(raw)


def read(
    *messages: dict[str, Any], call: Call | None = None, is_count: bool = False, **fields: Any
) -> Translated:
    """What that request becomes."""
    return read_request(decoded(*messages, is_count=is_count, **fields), call or Call())


def items(*messages: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """The input of that request, without fields that say nothing."""
    request_input = msgspec.to_builtins(read(*messages, **fields).request.input)
    return [
        {name: value for name, value in item.items() if value is not None} for item in request_input
    ]


def tools(*provided: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """The tools that the model is offered."""
    found = msgspec.to_builtins(
        read(*fields.pop("messages", ()), tools=[*provided], **fields).request.tools or []
    )
    return [{name: value for name, value in one.items() if value is not None} for one in found]


def refused(*messages: dict[str, Any], **fields: Any) -> ClientError:
    """The error for that request."""
    with pytest.raises(ClientError) as caught:
        read(*messages, **fields)
    assert caught.value.status == 400
    return caught.value
