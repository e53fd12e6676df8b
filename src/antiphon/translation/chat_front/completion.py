"""Finished responses as a chat completion."""

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.errors import BackendError
from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.content import OutputText, Refusal
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import FunctionCall, Message, Reasoning
from antiphon.protocol.response import Response, Usage
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS
from antiphon.translation.chat_front.messages import FORMAT
from antiphon.translation.chat_front.view import ChatView

BETWEEN_MESSAGES = "\n\n"
"""Separates the texts of several messages of a response."""

Object = dict[str, Any]


def completion_of(responses: Sequence[Response], view: ChatView, completion_id: str) -> Object:
    """Return the completion; each response is an answer of it, in order."""
    first = responses[0]
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": first.created_at,
        "model": view.model,
        "choices": [_choice(index, one, view) for index, one in enumerate(responses)],
        "usage": usage_of(response.usage for response in responses),
        "service_tier": first.service_tier,
        "system_fingerprint": None,
    }


def _choice(index: int, response: Response, view: ChatView) -> Object:
    texts: list[str] = []
    refusals: list[str] = []
    annotations: list[Object] = []
    logprobs: list[Object] = []
    calls: list[Object] = []
    reasoning: list[str] = []
    details: list[Object] = []
    for item in response.output:
        if isinstance(item, Message) and not isinstance(item.content, str):
            for part in item.content:
                if isinstance(part, OutputText):
                    start = sum(map(len, texts)) + len(BETWEEN_MESSAGES) * len(texts)
                    texts.append(part.text)
                    annotations += annotations_of(part.annotations or (), start)
                    logprobs += part.logprobs or ()
                elif isinstance(part, Refusal):
                    refusals.append(part.refusal)
        elif isinstance(item, FunctionCall | CustomToolCall):
            calls.append(call_of(item))
        elif isinstance(item, Reasoning):
            reasoning += [part.text for part in (*item.summary, *(item.content or ()))]
            details += detail_of(item, len(details))
    text = BETWEEN_MESSAGES.join(texts)
    message: Object = {
        "role": "assistant",
        "content": None if not text and (calls or refusals) else text,
        "refusal": "".join(refusals) or None,
    }
    if annotations:
        message["annotations"] = annotations
    if reasoning:
        message["reasoning_content"] = BETWEEN_MESSAGES.join(reasoning)
    if details:
        message["reasoning_details"] = details
    if calls:
        message |= (
            {"function_call": calls[0]["function"]} if view.is_legacy else {"tool_calls": calls}
        )
    return {
        "index": index,
        "message": message,
        "finish_reason": finish_reason(response, view),
        "logprobs": {"content": logprobs, "refusal": None} if logprobs else None,
    }


def unanswerable(response: Response) -> BackendError | None:
    """Return the error for an item that waits for the client, and that a completion cannot contain;
    None without one.
    """
    output: Sequence[Any] = response.output
    answered = {item.call_id for item in output if type(item) in OUTPUTS}
    for item in output:
        is_foreign = type(item) in CALLS and not isinstance(item, FunctionCall | CustomToolCall)
        if isinstance(item, McpApprovalRequest) or (is_foreign and item.call_id not in answered):
            return BackendError(
                f"The backend's answer has an item of the type '{item.__struct_config__.tag}', "
                "which waits for the client, and which a chat completion cannot contain. Send the "
                "request to /v1/responses."
            )
    return None


def finish_reason(response: Response, view: ChatView) -> str:
    """Return why an answer ended. A call that was cut is not complete: `length`."""
    reason = response.incomplete_details.reason if response.incomplete_details else ""
    if reason:
        return "content_filter" if reason == "content_filter" else "length"
    if any(isinstance(item, FunctionCall | CustomToolCall) for item in response.output):
        return "function_call" if view.is_legacy else "tool_calls"
    return "stop"


def call_of(item: FunctionCall | CustomToolCall) -> Object:
    """Return a call of the client's tool."""
    if isinstance(item, CustomToolCall):
        custom = {"name": item.name, "input": item.input}
        return {"id": item.call_id, "type": "custom", "custom": custom}
    function = {"name": item.name, "arguments": item.arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def detail_of(item: Reasoning, index: int) -> list[Object]:
    """Return the sealed reasoning of an item, which clients can send again; none without any."""
    if not item.encrypted_content:
        return []
    sealed = {"type": "reasoning.encrypted", "data": item.encrypted_content, "id": item.id}
    return [{**sealed, "format": FORMAT, "index": index}]


def annotations_of(annotations: Iterable[Object], start: int) -> list[Object]:
    """Return citations of pages; the text of their message begins at `start`."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": one.get("start_index", 0) + start,
                "end_index": one.get("end_index", 0) + start,
                "title": one.get("title") or "",
                "url": one.get("url") or "",
            },
        }
        for one in annotations
        if one.get("type") == "url_citation"
    ]


def usage_of(usages: Iterable[Usage | None]) -> Object:
    """Return the tokens of all answers together."""
    known = [usage for usage in usages if usage is not None]
    prompt = sum(usage.input_tokens for usage in known)
    output = sum(usage.output_tokens for usage in known)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {
            "cached_tokens": sum(usage.input_tokens_details.cached_tokens for usage in known),
            "cache_write_tokens": sum(
                usage.input_tokens_details.cache_write_tokens for usage in known
            ),
        },
        "completion_tokens_details": {
            "reasoning_tokens": sum(usage.output_tokens_details.reasoning_tokens for usage in known)
        },
    }
