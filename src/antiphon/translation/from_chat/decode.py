"""The bytes of chunks decoded, at once where they have the usual shape, by hand where they have not; and their usage.

| Chunk | Decoded by |
|---|---|
| adds text to the message, and does nothing else | `decode_texts`, to the text |
| a plain answer that is a text | `decode_answer`, to a `PlainAnswer` |
| has the nesting of the API | `decode_chunk`, to a `ChatChunk` |
| anything else that is a JSON object | `decode_chunk`, field by field |
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk, Choice, Delta
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.translation.from_chat.text_filters import repaired

_decode = msgspec.json.Decoder(ChatChunk).decode


# The fields of `Delta`, `Choice` and `ChatChunk`, each narrowed to what says nothing: all read these chunks alike.

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
    index: Literal[0] = 0
    logprobs: None = None


class _TextChunk(Struct, gc=False):
    choices: tuple[_TextChoice]
    usage: None = None
    error: None = None
    x_groq: None = None
    citations: None = None


class _PlainChoice(Struct, gc=False):
    message: _TextDelta
    finish_reason: Literal["stop", "length"]
    delta: None = None
    index: Literal[0] = 0
    logprobs: None = None


class PlainAnswer(Struct, gc=False):
    """A plain answer that is a text and nothing else."""

    choices: tuple[_PlainChoice]
    usage: dict[str, Any] | None = None
    error: None = None
    x_groq: None = None
    citations: None = None


NARROWED: dict[type[Struct], tuple[type[Struct], ...]] = {
    Delta: (_TextDelta,),
    Choice: (_TextChoice, _PlainChoice),
    ChatChunk: (_TextChunk, PlainAnswer),
}
"""The types of what is only text, by the types of any chunk."""

_decode_text = msgspec.json.Decoder(_TextChunk).decode
_decode_answer = msgspec.json.Decoder(PlainAnswer).decode


def decode_texts(events: Sequence[bytes], start: int, stop: str) -> list[str]:
    """Return the texts of the events from `start` on, up to the first that does more than add text.

    A text that holds `stop`, where that is not empty, ends them too.
    """
    texts: list[str] = []
    try:
        for place in range(start, len(events)):
            text = _decode_text(events[place]).choices[0].delta.content
            if not text or (stop and stop in text):
                break
            texts.append(text)
    except (ValueError, RecursionError):
        pass  # `decode_chunk` reads the event that is no such chunk
    return texts


def decode_answer(data: bytes) -> PlainAnswer | None:
    """Return the plain answer that these bytes are, where it is a text and nothing else."""
    try:
        return _decode_answer(data)
    except (ValueError, RecursionError):
        return None


def decode_chunk(data: bytes) -> ChatChunk:
    """Return the chunk or plain answer that these bytes are.

    Texts that come in pieces (a `Delta`'s strings and a call's `arguments`) may hold half a surrogate pair where the
    backend cut one in two. Raises `BackendError` for what is not a JSON object.
    """
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
        **_known(ChatChunk, value), choices=[_choice(choice) for choice in listed if isinstance(choice, dict)]
    )


def _choice(value: dict[str, Any]) -> Choice:
    delta, message = _delta(value.pop("delta", None)), _delta(value.pop("message", None))
    return Choice(**_known(Choice, value), delta=delta, message=message)


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    calls = value.pop("tool_calls", None)
    tool_calls = [_call(call) for call in calls] if isinstance(calls, list) else None
    return Delta(**_known(Delta, value) | _named(Delta, texts) | {"tool_calls": tool_calls})


def _call(value: Any) -> Any:
    call, function = repaired(value), value.get("function") if isinstance(value, dict) else None
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        call["function"]["arguments"] = function["arguments"]
    return call


def _known(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: repaired(member) for name, member in _named(kind, value).items()}


def _named(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in kind.__struct_fields__ if name in value}


# The count of tokens, in the words of the Responses API (specification section 3, `usage`).


def read_usage(value: Any) -> Usage | None:
    """Return the usage that this object reports, None where it reports none.

    Backends differ in names, and in what `prompt_tokens` and `completion_tokens` leave out; here the total is input
    plus output, and no detail exceeds what it is a detail of. A count that is no number counts as 0.
    """
    if not isinstance(value, dict) or not value:
        return None
    counts = _counts(value)
    prompt = _counts(details) if (details := value.get("prompt_tokens_details")) else {}
    completion = _counts(details) if (details := value.get("completion_tokens_details")) else {}
    input_tokens = counts.get("prompt_tokens") or counts.get("input_tokens", 0)
    output_tokens = counts.get("completion_tokens") or counts.get("output_tokens", 0)
    beside = max(counts.get("total_tokens", 0) - input_tokens - output_tokens, 0)
    if beside and beside == prompt.get("audio_tokens"):
        input_tokens += beside  # Mistral counts audio beside `prompt_tokens`
    else:
        output_tokens += beside  # xAI and Gemini count reasoning beside `completion_tokens`
    cached = (
        prompt.get("cached_tokens")
        or counts.get("prompt_cache_hit_tokens")  # DeepSeek
        or counts.get("cache_read_input_tokens")
        or counts.get("cached_tokens", 0)
    )
    written = (
        prompt.get("cache_write_tokens")
        or prompt.get("cache_creation_tokens")
        or counts.get("cache_creation_input_tokens", 0)
    )
    reasoning = completion.get("reasoning_tokens") or counts.get("reasoning_tokens", 0)
    return Usage(
        input_tokens=input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=min(cached, input_tokens), cache_write_tokens=min(written, input_tokens)
        ),
        output_tokens=output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=min(reasoning, output_tokens)),
        total_tokens=input_tokens + output_tokens,
    )


def _counts(value: Any) -> dict[str, int]:
    """Return what counts at least one, by its name."""
    counts: dict[str, int] = {}
    for name, count in value.items() if isinstance(value, dict) else ():
        if isinstance(count, int | float) and 1 <= count < 2**53:
            counts[name] = int(count)
    return counts
