"""Objects of the Messages API that meet every requirement, to be changed."""

from typing import Any

from antiphon_verify.replies import Reply, states

USAGE: dict[str, Any] = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 3,
}

TEXT: dict[str, Any] = {"type": "text", "text": "Paris."}

USE: dict[str, Any] = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "get_weather",
    "input": {"city": "Paris"},
}

MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "demo",
    "content": [TEXT],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": USAGE,
}

CALLING: dict[str, Any] = {**MESSAGE, "content": [USE], "stop_reason": "tool_use"}


def replied(body: Any, status: int = 200) -> Reply:
    """Return a JSON reply with the id of its request."""
    return states(body, status, request_id="req_1")


def refused(message: str, status: int = 400, kind: str = "invalid_request_error") -> Reply:
    """Return an error in its envelope."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return replied(body, status)
