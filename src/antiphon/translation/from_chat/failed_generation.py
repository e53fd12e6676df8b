"""The answer inside a refusal: services that cannot parse the call of their model report what it
wrote.

Groq answers with status 400, the code `tool_use_failed` and the model's text as `failed_generation`
(freellmapi PR#291, OpenHands#11725). That text is mostly a call in a known format.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon.ids import new_id
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.tool_bindings import Offer

UNPARSED = "tool_use_failed"
"""Error code of Groq for a call that it could not parse: the model may write it correctly the next
time.
"""

_LONGEST = 200_000
"""Characters of such a text that are read."""

_BEGIN = re.compile(r"(?=<function=)")
"""Splits a text before each call, so that its length is read once, and each call begins a line."""

_FUNCTION = re.compile(
    r"<function=([\w.:/-]{1,128})[^\w{]{0,4}(\{.*\})[^\w}]{0,4}</?function>", re.DOTALL
)
"""How models of Groq misspell Llama's form: without `>`, in parentheses, without the slash of the
closing tag.
"""


def answer_of(refusal: bytes, offers: Mapping[str, Offer]) -> bytes | None:
    """Return the Chat completion that a refusal contains: with calls of `offers`, which the model
    wrote as text.

    None if it contains no answer, or one without a call.
    """
    return answer_in(written, offers) if (written := _written(refusal)) else None


def answer_in(written: str, offers: Mapping[str, Offer]) -> bytes | None:
    """Return the Chat completion with the calls of `offers` that a model wrote as text; None
    without any.
    """
    from antiphon.translation.from_chat.text_calls.reader import TextCallReader  # noqa: PLC0415 - few refusals need it

    reader = TextCallReader(offers)
    parts = (_FUNCTION.sub(r"<function=\1>\2</function>", part) for part in _BEGIN.split(written))
    pieces = [*reader.feed("\n".join(parts)), *reader.flush(is_answer=True)]
    calls = [_call(piece.name, piece.arguments) for piece in pieces if not isinstance(piece, str)]
    if not calls:
        return None
    text = "".join(piece for piece in pieces if isinstance(piece, str)).strip()
    message = {"role": "assistant", "content": text or None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return msgspec.json.encode({"object": "chat.completion", "choices": [choice]})


def _written(refusal: bytes) -> str:
    """Return what the model wrote, according to a refusal; empty if that says nothing about it."""
    if UNPARSED.encode() not in refusal:
        return ""
    try:
        body = decode_value(refusal)
    except (ValueError, RecursionError):
        return ""
    error: Any = body.get("error") if isinstance(body, dict) else None
    return text_of(error)


def text_of(error: Any) -> str:
    """Return what the model wrote, according to an error; empty if that says nothing about it."""
    written = error.get("failed_generation") if isinstance(error, dict) else None
    return written[:_LONGEST] if isinstance(written, str) else ""


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": new_id("call"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
