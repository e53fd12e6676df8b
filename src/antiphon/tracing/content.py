"""What was said, in the form that the GenAI conventions give it; only for who wants to see it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from antiphon.protocol.content import Item, OutputText
from antiphon.protocol.items import FunctionCall, Message
from antiphon.protocol.tool_items import CustomToolCall

Part = dict[str, Any]


def input_messages(body: Mapping[str, Any]) -> str:
    """Return the messages of a Chat request as `gen_ai.input.messages`, a JSON string."""
    return json.dumps([{"role": one["role"], "parts": list(_parts(one))} for one in body.get("messages", ())])


def output_messages(items: Sequence[Item], finish_reason: str) -> str:
    """Return the items that one call of the model made as `gen_ai.output.messages`, a JSON string."""
    parts = [part for item in items for part in _made(item)]
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}])


def tool_definitions(body: Mapping[str, Any]) -> str:
    """Return the tools of a Chat request as `gen_ai.tool.definitions`, a JSON string."""
    return json.dumps([{"type": "function", **tool["function"]} for tool in body.get("tools", ())])


def _parts(message: Mapping[str, Any]) -> Iterator[Part]:
    content = message.get("content")
    if message["role"] == "tool":
        yield {"type": "tool_call_response", "id": message["tool_call_id"], "response": content}
        return
    if isinstance(content, str):
        yield {"type": "text", "content": content}
    elif content:
        yield from map(_part, content)
    for call in message.get("tool_calls", ()):
        called = call["function"]
        yield {"type": "tool_call", "id": call["id"], "name": called["name"], "arguments": called["arguments"]}


def _part(part: Mapping[str, Any]) -> Part:
    """Return a part of a message; of pictures, sounds and files that came along only their kind is told."""
    if part["type"] == "text":
        return {"type": "text", "content": part["text"]}
    return {"type": part["type"]}


def _made(item: Item) -> Iterator[Part]:
    match item:
        case Message(content=[*content]):
            yield from ({"type": "text", "content": one.text} for one in content if isinstance(one, OutputText))
        case FunctionCall(call_id=call_id, name=name, arguments=arguments):
            yield {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
        case CustomToolCall(call_id=call_id, name=name, input=given):
            yield {"type": "tool_call", "id": call_id, "name": name, "arguments": given}
