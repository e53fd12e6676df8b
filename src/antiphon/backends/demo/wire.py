"""What `demo` said, in the forms of Chat Completions: one completion, or chunks word by word."""

import re
from dataclasses import dataclass, field
from typing import Any

HEAD = {"id": "chatcmpl-demo", "created": 0, "model": "demo", "system_fingerprint": "fp_demo"}


@dataclass(slots=True)
class Said:
    """One answer: any of these may be empty. A call is a function's name and its arguments as JSON."""

    reasoning: str = ""
    text: str = ""
    refusal: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    finish_reason: str = "stop"


def as_completion(said: Said, request: dict[str, Any]) -> dict[str, Any]:
    """Return the plain answer."""
    said = _limited(said, request)
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.refusal:
        message["refusal"] = said.refusal
    if said.calls:
        message["tool_calls"] = [_call(index, name, arguments) for index, (name, arguments) in enumerate(said.calls)]
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    if request.get("logprobs"):
        choice["logprobs"] = {"content": [_logprob(word, request) for word in _words(said.text)]}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": _usage(said, request)}


def as_chunks(said: Said, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the streamed answer."""
    said = _limited(said, request)
    chunks = [_chunk(role="assistant", content="")]
    chunks += [_chunk(reasoning_content=word) for word in _words(said.reasoning)]
    for word in _words(said.text):
        chunks.append(_chunk(content=word))
        if request.get("logprobs"):
            chunks[-1]["choices"][0]["logprobs"] = {"content": [_logprob(word, request)]}
    chunks += [_chunk(refusal=word) for word in _words(said.refusal)]
    for index, (name, arguments) in enumerate(said.calls):
        chunks.append(_chunk(tool_calls=[_call(index, name, "")]))
        pieces = [{"index": index, "function": {"arguments": word}} for word in _words(arguments)]
        chunks += [_chunk(tool_calls=[piece]) for piece in pieces]
    chunks.append(_chunk(said.finish_reason))
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**HEAD, "object": "chat.completion.chunk", "choices": [], "usage": _usage(said, request)})
    return chunks


def _limited(said: Said, request: dict[str, Any]) -> Said:
    """Return the answer as far as `stop` and the token limit let it come."""
    text = said.text
    stops = request.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = text.partition(stop)[0]
    finish_reason = "tool_calls" if said.calls else "stop"
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or 0
    if limit <= 0:
        return Said(said.reasoning, text, said.refusal, said.calls, finish_reason)
    reasoning, left = _first(said.reasoning, limit)
    text, left = _first(text, left)
    refusal, left = _first(said.refusal, left)
    calls = said.calls if left > 0 else []
    is_cut = left < 0 or calls != said.calls
    return Said(reasoning, text, refusal, calls, "length" if is_cut else finish_reason)


def _first(text: str, limit: int) -> tuple[str, int]:
    """Return the first words of a text, and how many more may follow."""
    words = _words(text)
    return "".join(words[: max(limit, 0)]), limit - len(words)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)


def _chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}


def _call(index: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": f"call_demo_{index}", "type": "function", "function": function}


def _logprob(word: str, request: dict[str, Any]) -> dict[str, Any]:
    token: dict[str, Any] = {"token": word, "bytes": list(word.encode()), "logprob": -0.01 * len(word)}
    others = [{**token, "logprob": token["logprob"] - rank} for rank in range(request.get("top_logprobs") or 0)]
    return {**token, "top_logprobs": others}


def _usage(said: Said, request: dict[str, Any]) -> dict[str, Any]:
    prompt = sum(len(str(message.get("content") or "").split()) for message in request["messages"])
    reasoning = len(_words(said.reasoning))
    arguments = "".join(arguments for _, arguments in said.calls)
    completion = reasoning + len(_words(said.text)) + len(_words(said.refusal)) + len(_words(arguments))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
