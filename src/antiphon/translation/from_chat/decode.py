"""Decodes the bytes of chunks, directly if they have the usual form, field by field otherwise.

| Chunk | Decoded by |
|---|---|
| adds text to the message, and does nothing else | `decode_text`, to a `TextChunk` |
| the same, of many that differ in their texts alone | `decode_texts`, to these texts |
| a non-streamed answer that is a text | `decode_answer`, to a `PlainAnswer` |
| has the nesting of the API | `decode_chunk`, to a `ChatChunk` |
| anything else that is a JSON object | `decode_chunk`, field by field |
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChoice, ChatChunk, Delta
from antiphon.translation.from_chat.text_filters import repaired

_decode = msgspec.json.Decoder(ChatChunk).decode


# The fields of `Delta`, `ChatChoice` and `ChatChunk`, each narrowed to values without content: all
# read these chunks alike.

Nothing = Annotated[list[Any], Meta(max_length=0)] | None


class _TextDelta(Struct, gc=False):
    content: str
    refusal: None = None
    tool_calls: Nothing = None
    function_call: None = None
    reasoning_content: None = None
    reasoning: None = None
    reasoning_details: None = None
    thinking_blocks: None = None
    annotations: Nothing = None
    extra_content: None = None


class _TextChoice(Struct, gc=False):
    delta: _TextDelta
    message: None = None
    finish_reason: None = None
    native_finish_reason: None = None
    index: Literal[0] = 0
    logprobs: None = None
    usage: None = None


class TextChunk(Struct, gc=False):
    """A chunk that adds text to the message, if it adds anything."""

    choices: tuple[_TextChoice]
    usage: None = None
    error: None = None
    x_groq: None = None
    citations: None = None
    base_resp: None = None
    code: None = None
    msg: None = None
    message: None = None


class _PlainChoice(Struct, gc=False):
    message: _TextDelta
    finish_reason: Literal["stop", "length"]
    delta: None = None
    native_finish_reason: str | None = None
    index: Literal[0] = 0
    logprobs: None = None
    usage: None = None


class PlainAnswer(Struct, gc=False):
    """A non-streamed answer that is only a text."""

    choices: tuple[_PlainChoice]
    usage: dict[str, Any] | None = None
    error: None = None
    x_groq: None = None
    citations: None = None
    base_resp: None = None
    code: None = None
    msg: None = None
    message: None = None


NARROWED: dict[type[Struct], tuple[type[Struct], ...]] = {
    Delta: (_TextDelta,),
    ChatChoice: (_TextChoice, _PlainChoice),
    ChatChunk: (TextChunk, PlainAnswer),
}
"""The text-only types, by the types of any chunk."""

decode_text = msgspec.json.Decoder(TextChunk).decode
"""Returns the chunk in these bytes; raises `ValueError` or `RecursionError` if it does more than
add text.
"""

_decode_strings = msgspec.json.Decoder(list[str]).decode
_encode = msgspec.json.Encoder().encode

_ANOTHER = "another text"


def decode_texts(chunks: Sequence[bytes]) -> list[str]:
    """Return the texts that the first of these chunks add, if they differ in their texts alone.

    What is around the text of the first chunk is compared with all that begin alike in one step,
    and their texts are decoded in another, so a chunk takes a third of the time of `decode_text`.
    Empty if the chunks must be decoded one by one.
    """
    try:
        text = _encode(decode_text(chunks[0]).choices[0].delta.content)
        before, _, behind = chunks[0].rpartition(text)
        another = decode_text(b"".join((before, _encode(_ANOTHER), behind)))
        if another.choices[0].delta.content != _ANOTHER:
            return []
        before += b'"'
        behind = b'"' + behind
        begin = len(before)
        left = -len(behind)
        end = len(chunks)
        while not chunks[end - 1].startswith(before):
            end -= 1
        alike = chunks[:end]
        strings = [chunk[begin:left] for chunk in alike]
        if (behind + b"\n" + before).join(strings) != b"\n".join(alike)[begin:left]:
            return []
        json = b'["%b"]' % b'","'.join(strings)
        texts = _decode_strings(json)
    except (ValueError, RecursionError):
        return []
    # If no string has a quote in it, a backslash at its end would make the texts fewer.
    return texts if json.count(b'"') == 2 * end and len(texts) == end and all(texts) else []


decode_answer = msgspec.json.Decoder(PlainAnswer).decode
"""Returns the non-streamed answer in these bytes; raises as `decode_text` if it is more than a
text.
"""


def decode_chunk(data: bytes) -> ChatChunk:
    """Return the chunk or non-streamed answer in these bytes.

    Texts that arrive in pieces (a `Delta`'s strings and a call's `arguments`) can contain half a surrogate pair if the
    backend split one. Raises `BackendError` for anything but a JSON object.

    >>> from antiphon.translation import decode_chunk
    >>> decode_chunk(b'{"choices": [{"delta": {"content": "Hi"}}]}').choices[0].delta.content
    'Hi'
    """  # noqa: E501 - a table, a diagram or an example
    try:
        return _decode(data)
    except (ValueError, RecursionError):
        return _decode_by_hand(data)


def _decode_by_hand(data: bytes) -> ChatChunk:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        if isinstance(value, dict):
            return _chunk(value)
    except (ValueError, RecursionError) as error:
        raise BackendError("The backend sent a chunk that is not valid JSON.") from error
    raise BackendError("The backend sent a chunk that is not a JSON object.")


def _chunk(value: dict[str, Any]) -> ChatChunk:
    choices = value.pop("choices", None)
    listed = choices if isinstance(choices, list) else [choices]
    return ChatChunk(
        **_known(ChatChunk, value),
        choices=[_choice(choice) for choice in listed if isinstance(choice, dict)],
    )


def _choice(value: dict[str, Any]) -> ChatChoice:
    delta = _delta(value.pop("delta", None))
    message = _delta(value.pop("message", None))
    return ChatChoice(**_known(ChatChoice, value), delta=delta, message=message)


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    calls = value.pop("tool_calls", None)
    tool_calls = [_call(call) for call in calls] if isinstance(calls, list) else None
    return Delta(**_known(Delta, value) | _named(Delta, texts) | {"tool_calls": tool_calls})


def _call(value: Any) -> Any:
    call = repaired(value)
    function = value.get("function") if isinstance(value, dict) else None
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        call["function"]["arguments"] = function["arguments"]
    return call


def _known(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: repaired(member) for name, member in _named(kind, value).items()}


def _named(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in kind.__struct_fields__ if name in value}
