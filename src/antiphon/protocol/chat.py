"""What a Chat Completions backend answers, read tolerantly.

Any field may be absent, null, empty or of a sister type (lessons L13): what varies is typed `Any` and judged
where it is used; only the nesting is fixed here. A chunk nested otherwise does not decode into these types.

Nothing here can be part of a reference cycle, so the collector need not look (`gc=False`).
"""

from typing import Any

from msgspec import Struct


class Delta(Struct, gc=False):
    """What one chunk adds to the message; a plain answer's `message` has the same fields."""

    content: Any = None
    refusal: Any = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    thinking_blocks: Any = None
    annotations: Any = None
    extra_content: Any = None


class Choice(Struct, gc=False):
    """One candidate; only the one of index 0 is read."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    index: Any = 0
    logprobs: Any = None


class ChatChunk(Struct, gc=False):
    """One chunk of a streamed answer, or a plain answer."""

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: Any = None
    citations: Any = None
