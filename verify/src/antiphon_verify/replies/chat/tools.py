"""Tool calls."""

from typing import Any

from antiphon_verify.replies import Reply, changed, chunks, error, states
from antiphon_verify.replies.completions import CALL, COMPLETION, ROLE, chunk

TEXT = states(COMPLETION)

MESSAGE = ("choices", 0, "message")

REJECTED = error("Invalid value.")


def with_calls(*calls: dict[str, Any], finish_reason: str = "tool_calls") -> Reply:
    """Return a completion with these calls."""
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return TEXT.patched(*MESSAGE, to=message).patched(
        "choices", 0, "finish_reason", to=finish_reason
    )


def named(name: str, **fields: Any) -> dict[str, Any]:
    """Return a call of this function."""
    call: dict[str, Any] = changed(CALL, "function", "name", to=name)
    return call | fields


def piece(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a chunk with a part of a call."""
    return chunk({"tool_calls": [{"index": 0, **fields}]}, finish_reason)


GOOD = with_calls(CALL)

ARGUMENTS = (*MESSAGE, "tool_calls", 0, "function", "arguments")

TIME = named("get_time", id="call_2")

HEAD = piece(id="call_1", type="function", function={"name": "get_weather", "arguments": ""})

PIECES = [piece(function={"arguments": one}) for one in ('{"city":', ' "Paris"}')]

DONE = chunk({}, "tool_calls")

STREAM = chunks(ROLE, HEAD, *PIECES, DONE)
