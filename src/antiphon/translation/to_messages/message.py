"""A finished response as a message; and what both the message and the end of a stream say of it:
why it ended, usage.

Input tokens are three disjoint numbers here: their sum is the `input_tokens` of the Responses API.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from antiphon.protocol.items.content import Refusal
from antiphon.protocol.items.hosted import WebSearchCall
from antiphon.protocol.items.messages import Message
from antiphon.protocol.messages.models import rfc3339
from antiphon.protocol.response import Response, Usage
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.to_messages.blocks import CLIENT_CALLS, Blocks
from antiphon.translation.to_messages.hosted_blocks import SEARCHED, container_of, web_tool

CONTAINER_LIFETIME = 20 * 60
"""Seconds without use after which a container expires (specification section 16)."""

BINDING_BETA = "thinking-binding-controls"
"""With it, an answer always has `input_transformations`."""

_REFUSED = {"type": "refusal", "category": None, "explanation": None}

_INCOMPLETE = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "pause_turn",
}


class Ending(Struct, frozen=True):
    """Why an answer ended: `stop_reason`, `stop_sequence` and `stop_details`."""

    reason: str
    sequence: str | None = None
    details: dict[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """Return the fields of a message."""
        return {
            "stop_reason": self.reason,
            "stop_sequence": self.sequence,
            "stop_details": self.details,
        }


def ending_of(
    response: Response,
    view: MessagesView,
    stop_sequence: str | None = None,
    *,
    is_window_full: bool = False,
) -> Ending:
    """Return why a response ended.

    `stop_sequence` is the one before which the run stopped, None if it did not.

    `is_window_full` says that the model's window was full, rather than the limit of the request
    reached. A request that only fills the cache ends at its limit of no tokens.
    """
    if view.is_warming:
        return Ending("max_tokens")
    if response.incomplete_details is not None:
        reason = _INCOMPLETE.get(response.incomplete_details.reason, "end_turn")
        if reason == "max_tokens" and is_window_full:
            reason = "model_context_window_exceeded"
        return Ending(reason, details=dict(_REFUSED) if reason == "refusal" else None)
    output: Sequence[Any] = response.output
    if any(isinstance(item, CLIENT_CALLS) for item in output):
        return Ending("tool_use")
    if any(_has_refusal(item) for item in output):
        return Ending("refusal", details=dict(_REFUSED))
    if stop_sequence is not None:
        return Ending("stop_sequence", stop_sequence)
    return Ending("end_turn")


def _has_refusal(item: Any) -> bool:
    return (
        isinstance(item, Message)
        and not isinstance(item.content, str)
        and any(isinstance(part, Refusal) and part.refusal for part in item.content)
    )


def usage_of(usage: Usage | None, output: Sequence[Any] = ()) -> dict[str, Any]:
    """Return the usage of a message."""
    usage = usage or Usage()
    read = usage.input_tokens_details.cached_tokens
    written = usage.input_tokens_details.cache_write_tokens
    counted: dict[str, Any] = {
        "input_tokens": max(0, usage.input_tokens - read - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }
    if thought := usage.output_tokens_details.reasoning_tokens:
        counted["output_tokens_details"] = {"thinking_tokens": thought}
    calls = [web_tool(item) for item in output if isinstance(item, WebSearchCall)]
    if calls:
        searches = calls.count(SEARCHED)
        counted["server_tool_use"] = {
            "web_search_requests": searches,
            "web_fetch_requests": len(calls) - searches,
        }
    return counted


def token_count(tokens: int, view: MessagesView) -> dict[str, Any]:
    """Return the answer to a request for a count of the tokens that remain after its edits."""
    if view.edits is None:
        return {"input_tokens": tokens}
    original = {"original_input_tokens": tokens + view.edits.cleared_tokens}
    return {"input_tokens": tokens, "context_management": original}


def estimated_usage(tokens: int) -> dict[str, Any]:
    """Return the usage at the start of a stream: the estimated tokens of the prompt, never 0."""
    return usage_of(Usage(input_tokens=max(1, tokens), output_tokens=1))


def message_id(response: str) -> str:
    """Return the id of a message: the response `resp_123` is the message `msg_123`."""
    return f"msg_{response.partition('_')[2] or response}"


def response_id(message: str) -> str:
    """Return the id of the response that a message is."""
    return f"resp_{message.partition('_')[2] or message}"


def empty_message(response: Response, model: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message before it has content."""
    return {
        "id": message_id(response.id),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }


def alongside(response: Response, view: MessagesView) -> dict[str, Any]:
    """Return the fields that the betas of a request add to a message, and to the end of a
    stream.
    """
    fields: dict[str, Any] = {}
    if view.edits is not None:
        fields["context_management"] = {"applied_edits": view.edits.applied}
    removed = response.input_transformations
    changed = view.transformations(removed) if removed or view.dropped else []
    if changed or (view.call.betas and view.call.is_beta(BINDING_BETA)):
        fields["input_transformations"] = changed
    return fields


def container_field(response: Response) -> dict[str, Any]:
    """Return the container in which code ran; nothing if none did."""
    container = container_of(response.output)
    if not container:
        return {}
    expires = (response.completed_at or response.created_at) + CONTAINER_LIFETIME
    return {"container": {"id": container, "expires_at": rfc3339(expires)}}


def message_of(
    response: Response,
    blocks: Blocks,
    model: str,
    *,
    stop_sequence: str | None = None,
    is_window_full: bool = False,
    diagnostics: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a finished response as a message, by the name of the `model` that the client used.

    A response that failed is no message: the endpoint replies with its error.
    """
    output: Sequence[Any] = response.output
    return {
        **empty_message(response, model, usage_of(response.usage, output)),
        "content": [block for item in output for block in blocks.of(item)],
        **ending_of(response, blocks.view, stop_sequence, is_window_full=is_window_full).fields(),
        **container_field(response),
        **({"diagnostics": diagnostics} if blocks.view.diagnoses else {}),
        **alongside(response, blocks.view),
    }
