"""Completions of servers that make them of another API's answers."""

from antiphon_verify.replies import Reply, chunks, error
from antiphon_verify.replies.chat.tools import GOOD, MESSAGE, TEXT, named, with_calls
from antiphon_verify.replies.completions import END, ROLE, chunk

CUT = TEXT.patched("choices", 0, "finish_reason", to="length")

FUNCTION_CALL = {"name": "get_weather", "arguments": '{"city": "Paris"}'}

FUNCTION = TEXT.patched(
    *MESSAGE, to={"role": "assistant", "content": None, "function_call": FUNCTION_CALL}
).patched("choices", 0, "finish_reason", to="function_call")

OTHER = with_calls(named("get_time"))

CUSTOM = GOOD.patched(
    *(*MESSAGE, "tool_calls", 0),
    to={"id": "call_1", "type": "custom", "custom": {"name": "say", "input": "Hello."}},
)


def streaming(*texts: str) -> Reply:
    """Return a stream with these deltas."""
    return chunks(ROLE, *(chunk({"content": text}) for text in texts), END)


def refusing(param: str | None) -> Reply:
    """Return a rejection of this parameter."""
    rejected = error("Invalid value.")
    return rejected.patched("error", "param", to=param)
