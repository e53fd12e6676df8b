"""The backend `demo`: a scripted model that answers word by word."""

import math
import re
from collections.abc import Callable, Iterator, Sequence

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.ids import Clock, NewId
from antiphon.upstream.demo.answer import answer_to, text_of
from antiphon.upstream.demo.checks import NAME, Fields, check
from antiphon.upstream.demo.images import PATHS, drawn, fields_of
from antiphon.upstream.scripted import Answer, Chunk, ScriptedBackend


class DemoBackend(ScriptedBackend):
    """A scripted Chat Completions model; docs/guides/test-without-a-model.md documents its answers.

    The same request always returns the same answer, except for the ids and `created`. A word is a
    token, and a chunk.
    """

    def __init__(
        self,
        *,
        now: Clock = ids.now,
        new_id: NewId = ids.new_id,
        models: Sequence[str] = (NAME,),
        owner: str = "antiphon",
    ) -> None:
        super().__init__((), name=NAME, models=models, owner=owner)
        self._now = now
        self._new_id = new_id

    def read(self, path: str, body: bytes) -> Fields:
        """Return a request as an object: a request to edit an image is a form."""
        return (
            fields_of(path, body)
            if path in PATHS and not body.startswith(b"{")
            else super().read(path, body)
        )

    def answer(self, path: str, request: Fields) -> Answer:
        """Return the answer to a request for chat completions, or for a count of its tokens."""
        return self.answer_as(path, request)

    def answer_as(
        self, path: str, request: Fields, change: Callable[[Fields], Fields] | None = None
    ) -> Answer:
        """Return the answer; `change` transforms its message."""
        self.requests.clear()  # tests read them, but this backend can run for days
        if path in PATHS:
            return drawn(path, request)
        if path not in ("/chat/completions", "/chat/completions/input_tokens"):
            raise ClientError(f"demo does not serve '{path}'.", status=404, code="unknown_url")
        check(request)
        tokens = sum(len(text_of(message).split()) for message in request["messages"])
        if path.endswith("/input_tokens"):
            return {"object": "response.input_tokens", "input_tokens": tokens}
        completion_id = self._new_id("chatcmpl").replace("_", "-")
        head = {
            "id": completion_id,
            "object": "chat.completion.chunk",
            "created": int(self._now()),
            "model": NAME,
        }
        message = answer_to(request) if change is None else change(answer_to(request))
        return [{**head, **part} for part in self._changes(message, request, tokens)]

    def _changes(self, message: Fields, request: Fields, tokens: int) -> Iterator[Chunk]:
        """Yield the content of each chunk.

        The last one has the usage and no choice; streams include it on request.
        """
        deltas = list(self._deltas(message, request.get("stop") or []))
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or -1
        stored = (
            deltas[:limit] if limit > 0 else deltas
        )  # LM Studio and llama.cpp read -1 as no limit
        yield _choice({"role": "assistant"})
        for delta in stored:
            yield _choice(delta, logprobs=_logprobs(delta, request))
        yield _choice(
            {},
            "length"
            if len(stored) < len(deltas)
            else "tool_calls"
            if "tool_calls" in message
            else "stop",
        )
        if not request.get("stream") or (request.get("stream_options") or {}).get("include_usage"):
            yield {"choices": [], "usage": _usage(tokens, stored)}

    def _deltas(self, message: Fields, stop: str | list[str]) -> Iterator[Fields]:
        """Yield the deltas of a message, a token each; the text ends before a stop sequence."""
        stops = "|".join(
            re.escape(one) for one in ([stop] if isinstance(stop, str) else stop) if one
        )
        for name in ("reasoning_content", "content", "refusal"):
            text = message.get(name, "")
            stored = re.split(stops, text, maxsplit=1)[0] if stops and name == "content" else text
            yield from ({name: word} for word in _words(stored))
        for index, (name, arguments) in enumerate(message.get("tool_calls", ())):
            opening = {
                "id": self._new_id("call"),
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }
            yield {"tool_calls": [{"index": index, **opening}]}
            for word in _words(arguments):
                yield {"tool_calls": [{"index": index, "function": {"arguments": word}}]}


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the whitespace before it; joined they are the text."""
    return re.findall(r"\s*\S+(?:\s+$)?|\s+$", text)


def _choice(
    delta: Fields, finish_reason: str | None = None, logprobs: Fields | None = None
) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"choices": [choice | ({"logprobs": logprobs} if logprobs else {})]}


def _logprobs(delta: Fields, request: Fields) -> Fields | None:
    """Return generated log probabilities of a word: high, with decreasing ones for its
    alternatives.
    """
    if not request.get("logprobs") or "content" not in delta:
        return None
    word = delta["content"]
    top = request.get("top_logprobs") or 0
    tokens = [
        _token(word, 0.9),
        *(_token(f"{word}{place}", 0.1 / 2**place) for place in range(1, top)),
    ]
    return {"content": [{**tokens[0], "top_logprobs": tokens[:top]}]}


def _token(text: str, probability: float) -> Fields:
    return {"token": text, "logprob": math.log(probability), "bytes": list(text.encode())}


def _usage(read: int, written: list[Fields]) -> Fields:
    return {
        "prompt_tokens": read,
        "completion_tokens": len(written),
        "total_tokens": read + len(written),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": sum("reasoning_content" in delta for delta in written)
        },
    }
