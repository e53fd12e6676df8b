"""An answer as chunks, a word each. A word counts as a token; `stop` and the token limit end the answer as anywhere."""

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator
from typing import Any

from antiphon.upstream.demo.prompt import words_of
from antiphon.upstream.demo.script import THOUGHTS, Said
from antiphon.upstream.scripted_forms import Chunk

Delta = dict[str, Any]


def to_answer(said: Said, request: dict[str, Any], created: int) -> list[Chunk]:
    """Return the chunks. The last one has the usage and no choice; a stream has it only where it asks for it."""
    name = _name(request)
    deltas = list(_deltas(said, _stops(request), name))
    limit = _limit(request)
    kept = deltas if limit is None else deltas[:limit]
    finish_reason = "length" if len(kept) < len(deltas) else "tool_calls" if said.calls else "stop"
    choices = [_choice({"role": "assistant"}), *(_choice(delta, logprobs=_logprobs(delta, request)) for delta in kept)]
    choices.append(_choice({}, finish_reason))
    head = {"id": f"chatcmpl-{name}", "object": "chat.completion.chunk", "created": created, "model": request["model"]}
    chunks = [{**head, "choices": [choice]} for choice in choices]
    if not request.get("stream") or (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": _usage(request, kept)})
    return chunks


def words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks before it; joined they are the text."""
    return re.findall(r"\s*\S+(?:\s+$)?|\s+$", text)


OTHERS = tuple(dict.fromkeys(words(" ".join(THOUGHTS))))
"""Tokens that could have stood in a token's place: more than can be asked for."""


def _name(request: dict[str, Any]) -> str:
    """Return what ids are made of: the same for the same conversation, streamed or not, and no other."""
    return hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()[:24]


def _deltas(said: Said, stops: list[str], name: str) -> Iterator[Delta]:
    """Give the deltas of an answer, each worth a token."""
    yield from ({"reasoning_content": word} for word in words(said.reasoning))
    yield from ({"content": word} for word in words(_stopped(said.text, stops)))
    yield from ({"refusal": word} for word in words(said.refusal))
    for index, (function, arguments) in enumerate(said.calls):
        opening = {"name": function, "arguments": ""}
        yield _call(index, id=f"call_{name}_{index}", type="function", function=opening)
        yield from (_call(index, function={"arguments": word}) for word in words(arguments))


def _call(index: int, **fields: Any) -> Delta:
    return {"tool_calls": [{"index": index, **fields}]}


def _stops(request: dict[str, Any]) -> list[str]:
    stops = request.get("stop") or []
    return [stop for stop in ([stops] if isinstance(stops, str) else stops) if stop]


def _stopped(text: str, stops: list[str]) -> str:
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))]


def _limit(request: dict[str, Any]) -> int | None:
    """Return how many tokens there may be, None for any number: LM Studio and llama.cpp say so by -1."""
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or -1
    return limit if limit > 0 else None


def _choice(delta: Delta, finish_reason: str | None = None, *, logprobs: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return choice | ({"logprobs": logprobs} if logprobs else {})


def _logprobs(delta: Delta, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return made-up log probabilities of a word of the text: likely, and its alternatives ever less so."""
    if not request.get("logprobs") or "content" not in delta:
        return None
    word = delta["content"]
    doubt = (zlib.crc32(word.encode()) % 200 + 1) / 1000
    others = [_token(other, doubt / 2**place) for place, other in enumerate((o for o in OTHERS if o != word), start=1)]
    token = _token(word, 1 - doubt)
    return {"content": [{**token, "top_logprobs": [token, *others][: request.get("top_logprobs") or 0]}]}


def _token(text: str, probability: float) -> dict[str, Any]:
    return {"token": text, "logprob": math.log(probability), "bytes": list(text.encode())}


def _usage(request: dict[str, Any], deltas: list[Delta]) -> dict[str, Any]:
    prompt, reasoning = words_of(request["messages"]), sum("reasoning_content" in delta for delta in deltas)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": len(deltas),
        "total_tokens": prompt + len(deltas),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
