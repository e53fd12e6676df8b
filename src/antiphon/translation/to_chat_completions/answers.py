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
    content = _with_thoughts(text, recalled, dialect)
    message: ChatMessage = {"role": "assistant"} | (
        {"content": content} if content else _NO_CONTENT[dialect.call_content]
    )
    if refusal:
        message["refusal"] = refusal
    message |= _reasoning_fields(recalled, dialect, needed=bool(calls)) | recalled.signatures
    if calls:
        message["tool_calls"] = calls
    return [message]


_NO_CONTENT: dict[str, dict[str, Any]] = {
    "null": {"content": None},
    "": {"content": ""},
    "absent": {},
}


def _with_thoughts(text: str, recalled: Recalled, dialect: Dialect) -> str | list[ChatPart]:
    """Return the content with the reasoning inside it, if that is where the dialect has it."""
    if dialect.reasoning == "think_tags" and recalled.text:
        return f"<think>\n{recalled.text}\n</think>\n\n{text}".rstrip("\n")
    if dialect.reasoning == "thinking" and recalled.text:
        thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": recalled.text}]}
        return [thoughts, {"type": "text", "text": text}] if text else [thoughts]
    return text


def _reasoning_fields(recalled: Recalled, dialect: Dialect, *, needed: bool) -> dict[str, Any]:
    """Return the reasoning fields: those that the family sent, otherwise the plain text in the
    dialect's field.
    """
    if dialect.reasoning in {"think_tags", "thinking"}:
        return {}
    if recalled.fields:
        return recalled.fields
    if dialect.reasoning and (recalled.text or (needed and dialect.reasoning_required)):
        return {dialect.reasoning: recalled.text}
    return {}


def tool_message(call_id: str, parts: list[ChatPart], dialect: Dialect) -> ChatMessage:
    """Return the message with a tool's output; content that the dialect does not accept there is
    only mentioned.
    """
    content: str | list[ChatPart]
    if len(parts) == 1 and parts[0]["type"] == "text":
        content = parts[0]["text"]
    elif dialect.tool_parts and any(part["type"] != "text" for part in parts):
        content = parts
    else:
        content = "\n".join(part["text"] if part["type"] == "text" else _MOVED for part in parts)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


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
