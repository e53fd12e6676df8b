"""Converts messages to the format of the GenAI conventions; used only if content in traces is
enabled.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.content import Item, OutputText
from antiphon.protocol.items.messages import FunctionCall, Message

Part = dict[str, Any]

TEXTS = {"text", "input_text", "output_text"}
"""Types of parts that are text, in Chat Completions and in Responses."""

DEFINED = ("type", "name", "description", "parameters")
"""The fields of a tool that are exported; the others can contain keys to other servers."""


def input_messages(body: Mapping[str, Any]) -> str:
    """Return the input of a backend request, by either API, as `gen_ai.input.messages`: a JSON
    string.
    """
    messages = [
        {"role": one["role"], "parts": list(_parts(one))} for one in body.get("messages", ())
    ]
    items = [_item(one) for one in body.get("input", ()) if isinstance(one, dict)]
    return json.dumps(messages + items)


def output_messages(items: Sequence[Item], finish_reason: str) -> str:
    """Return the items of one model call as `gen_ai.output.messages`, a JSON string."""
    parts = [part for item in items for part in _created(item)]
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}])


def tool_definitions(body: Mapping[str, Any]) -> str:
    """Return the tools that are offered to a model as `gen_ai.tool.definitions`, a JSON string."""
    tools = [{**tool, **tool.get("function", {})} for tool in body.get("tools", ())]
    return json.dumps([{name: tool[name] for name in DEFINED if name in tool} for tool in tools])


def _parts(message: Mapping[str, Any]) -> Iterator[Part]:
    content = message.get("content")
    if message["role"] == "tool":
        yield _output(message["tool_call_id"], content)
        return
    yield from _content(content)
    for call in message.get("tool_calls") or ():
        called = call["function"]
        yield _call(call["id"], called["name"], called["arguments"])


def _item(item: Mapping[str, Any]) -> Part:
    """Return an item of a Responses request as a message."""
    match item:
        case {"type": "function_call" | "custom_tool_call", "call_id": call_id, "name": name}:
            provided = item.get("arguments", item.get("input"))
            return {"role": "assistant", "parts": [_call(call_id, name, provided)]}
        case {"output": output, "call_id": call_id}:
            return {"role": "tool", "parts": [_output(call_id, output)]}
    return {"role": item.get("role", "assistant"), "parts": list(_content(item.get("content")))}


def _content(content: Any) -> Iterator[Part]:
    """Yield the parts of a message; of images, audio and files only the type is exported."""
    if isinstance(content, str):
        yield {"type": "text", "content": content}
        return
    for part in content or ():
        is_text = part["type"] in TEXTS
        yield {"type": "text", "content": part["text"]} if is_text else {"type": part["type"]}


def _call(call_id: Any, name: str, arguments: Any) -> Part:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def _output(call_id: Any, output: Any) -> Part:
    return {"type": "tool_call_response", "id": call_id, "response": output}


def _created(item: Item) -> Iterator[Part]:
    match item:
        case Message(content=[*content]):
            yield from (
                {"type": "text", "content": one.text}
                for one in content
                if isinstance(one, OutputText)
            )
        case FunctionCall(call_id=call_id, name=name, arguments=arguments):
            yield _call(call_id, name, arguments)
        case CustomToolCall(call_id=call_id, name=name, input=provided):
            yield _call(call_id, name, provided)
