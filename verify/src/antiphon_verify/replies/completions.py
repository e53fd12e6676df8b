"""Objects of Chat Completions that meet every requirement, to be changed."""

from typing import Any

COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1763000000,
    "model": "demo",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello.", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
}

CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}


def chunk(
    delta: dict[str, Any] | None = None, finish_reason: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a chunk; without a delta, it has no choices."""
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    )
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1763000000,
        "model": "demo",
    }
    return {**head, "choices": choices, **fields}


ROLE = chunk({"role": "assistant", "content": ""})

END = chunk({}, "stop")

USAGE = chunk(usage=COMPLETION["usage"])

CHUNKS = (ROLE, chunk({"content": "Hel"}), chunk({"content": "lo."}), END)
