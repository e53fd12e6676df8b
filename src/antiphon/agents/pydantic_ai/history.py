"""Translates the items of a request into the messages of pydantic-ai, and its calls of tools into
those that the response displays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from antiphon.agents.errors import AgentError
from antiphon.agents.frameworks.items import text_of_content
from antiphon.agents.frameworks.tool_calls import EmittedCalls, ToolCall

Part = ModelRequestPart | ModelResponsePart

RESPONSE_PARTS = (TextPart, ToolCallPart)


def messages_of(items: Iterable[Mapping[str, Any]], emitted: EmittedCalls) -> list[ModelMessage]:
    """Return items of the API as messages. Reasoning, and calls of hosted tools, are omitted: their
    results are in the texts of the model.

    Raises `AgentError` for content other than text and images.
    """
    messages: list[ModelMessage] = []
    for part in _parts(items, emitted):
        last = messages[-1] if messages else None
        if isinstance(part, RESPONSE_PARTS):
            if isinstance(last, ModelResponse):
                last.parts = [*last.parts, part]
            else:
                messages.append(ModelResponse(parts=[part]))
        elif isinstance(last, ModelRequest):
            last.parts = [*last.parts, part]
        else:
            messages.append(ModelRequest(parts=[part]))
    return messages


def _parts(items: Iterable[Mapping[str, Any]], emitted: EmittedCalls) -> Iterator[Any]:
    names: dict[str, str] = {}
    for item in items:
        kind = item.get("type") or "message"
        if kind == "message":
            yield from _of_message(item)
        elif kind == "function_call":
            names[item["call_id"]] = item["name"]
            yield ToolCallPart(item["name"], item["arguments"], item["call_id"])
        elif kind == "function_call_output":
            call_id = item["call_id"]
            emitted.know([call_id])
            yield ToolReturnPart(
                names.get(call_id, "unknown"), text_of_content(item["output"]), call_id
            )
        elif (call := emitted.of_history(item)) is not None:
            yield ToolCallPart(call.name, call.arguments, call.call_id)
            yield ToolReturnPart(call.name, call.output, call.call_id)


def _of_message(item: Mapping[str, Any]) -> Iterator[Any]:
    role, content = item["role"], item["content"]
    if role == "assistant":
        yield TextPart(text_of_content(content))
    elif role == "user":
        yield UserPromptPart(content if isinstance(content, str) else _user_content(content))
    else:
        yield SystemPromptPart(text_of_content(content))


def _user_content(parts: Sequence[Mapping[str, Any]]) -> str | list[UserContent]:
    found: list[UserContent] = []
    for part in parts:
        if part["type"] == "input_text":
            found.append(part["text"])
        elif part["type"] == "input_image" and part.get("image_url"):
            found.append(ImageUrl(part["image_url"]))
        else:
            raise AgentError(
                f"The agent reads texts, and images by their URL, but no {part['type']}.",
                code="unsupported_value",
            )
    return found[0] if len(found) == 1 and isinstance(found[0], str) else found


def ended_calls(messages: Sequence[ModelMessage]) -> list[ToolCall]:
    """Return the calls that have ended, in the order of the models."""
    parts: list[Any] = [part for message in messages for part in message.parts]
    outputs = {
        part.tool_call_id: part.model_response_str()
        if isinstance(part, ToolReturnPart)
        else part.model_response()
        for part in parts
        if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id
    }
    return [
        ToolCall(
            part.tool_call_id, part.tool_name, part.args_as_json_str(), outputs[part.tool_call_id]
        )
        for part in parts
        if isinstance(part, ToolCallPart) and part.tool_call_id in outputs
    ]
