"""The Chat messages of an earlier answer: what the model said and thought, its calls, and their
results.
"""

import hashlib
from typing import Any

from antiphon.protocol.items.content import MAX_CALL_ID
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.signed_calls import shortened
from antiphon.translation.to_chat_completions.reasoning import Recalled

ChatPart = dict[str, Any]
ChatMessage = dict[str, Any]

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_SHORT_ID_LENGTH = 9


def assistant(
    text: str, refusal: str, recalled: Recalled, calls: list[ChatPart], dialect: Dialect
) -> list[ChatMessage]:
    """Return the assistant message with this text and refusal, or none if the answer is only
    reasoning.
    """
    if not (text or refusal or calls):
        return []
    is_inside = dialect.reasoning in _IN_CONTENT
    content = _with_thoughts(text, recalled.text, dialect) if is_inside else text
    message: ChatMessage = {"role": "assistant"}
    message |= {"content": content} if content else _NO_CONTENT[dialect.call_content]
    if refusal:
        message["refusal"] = refusal
    if not is_inside:
        message |= _reasoning_fields(recalled, dialect, needed=bool(calls))
    message |= recalled.signatures
    if calls:
        message["tool_calls"] = calls
    return [message]


_NO_CONTENT: dict[str, dict[str, Any]] = {
    "null": {"content": None},
    "": {"content": ""},
    "absent": {},
}


_IN_CONTENT = frozenset({"think_tags", "thinking"})
"""Where a dialect has the reasoning, if that is inside the content."""


def _with_thoughts(text: str, reasoning: str, dialect: Dialect) -> str | list[ChatPart]:
    """Return the content with the reasoning inside it."""
    if not reasoning:
        return text
    if dialect.reasoning == "think_tags":
        return f"<think>\n{reasoning}\n</think>\n\n{text}".rstrip("\n")
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": reasoning}]}
    return [thoughts, {"type": "text", "text": text}] if text else [thoughts]


def _reasoning_fields(recalled: Recalled, dialect: Dialect, *, needed: bool) -> dict[str, Any]:
    """Return the reasoning fields: those that the family sent, otherwise the plain text in the
    dialect's field.
    """
    if recalled.fields:
        return recalled.fields
    if dialect.reasoning and (recalled.text or (needed and dialect.reasoning_required)):
        return {dialect.reasoning: recalled.text}
    return {}


def tool_content(parts: list[ChatPart], dialect: Dialect) -> str | list[ChatPart]:
    """Return the content of the message with a tool's output; what the dialect does not accept
    there is only mentioned.
    """
    if dialect.tool_parts and any(part["type"] != "text" for part in parts):
        return parts
    return "\n".join([part["text"] if part["type"] == "text" else _MOVED for part in parts])


UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Gemini accepts in place of a signature, according to its documentation."""

_MOVED = "[see the next user message]"
MOVED_FROM = "From the output of call "
"""Begins a user message with content that a tool's output could not contain."""


def moved_from(call_id: str, name: str | None) -> ChatPart:
    """Return the words that precede content which a tool's output could not contain."""
    of = f" of {name}" if name else ""
    return {"type": "text", "text": f"{MOVED_FROM}{call_id}{of}:"}


def call_id_for(call_id: str, dialect: Dialect) -> str:
    """Return the id as the dialect allows it; the same id always becomes the same."""
    if not dialect.short_call_ids:
        return shortened(call_id) if len(call_id) > MAX_CALL_ID else call_id
    if len(call_id) == _SHORT_ID_LENGTH and call_id.isascii() and call_id.isalnum():
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
    return "".join(_BASE36[byte % len(_BASE36)] for byte in digest[:_SHORT_ID_LENGTH])
