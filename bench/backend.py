"""A backend that replays: `python -m bench.backend` prints its port and answers until it is ended.

The model's name in a request says how a stream comes; without `"stream":true` the answer is one
JSON object.

- `burst`: 256 deltas in one write, as one chunk of HTTP
- `chunks`: 256 deltas in one write, each a chunk of HTTP for itself
- `drip`: 256 deltas, one every `DRIP` seconds
- `word`: one delta and the end
- `silent`: one delta, and then nothing
"""

import asyncio
import json
import random
from typing import Any

from bench.wire import EVENT_STREAM, LAST_CHUNK, Requests, chunked, serve, whole

DELTAS = 256

DRIP = 0.04
"""Seconds between deltas: 200 streams are 5,000 deltas a second."""

_ANSWER = {
    "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "created": 1741569952,
    "model": "gpt-4o-2024-08-06",
    "service_tier": "default",
    "system_fingerprint": "fp_44709d6fcb",
}
_USAGE = {"prompt_tokens": 9, "completion_tokens": DELTAS, "total_tokens": DELTAS + 9}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _event(choices: list[Any], usage: Any = None) -> bytes:
    chunk = {**_ANSWER, "object": "chat.completion.chunk", "choices": choices, "usage": usage}
    return b"data: %b\n\n" % _json(chunk)


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


EVENTS = [_event([_choice({"content": f" token{index}"}, None)]) for index in range(DELTAS)]
"""The deltas in the shape that OpenAI gives them."""

END = _event([_choice({}, "stop")]) + _event([], _USAGE) + b"data: [DONE]\n\n"

_DROPS = [*map(chunked, EVENTS), chunked(END) + LAST_CHUNK]
_STREAMS = {
    b"burst": EVENT_STREAM + chunked(b"".join(EVENTS)) + _DROPS[-1],
    b"chunks": EVENT_STREAM + b"".join(_DROPS),
    b"word": EVENT_STREAM + _DROPS[0] + _DROPS[-1],
    b"silent": EVENT_STREAM + _DROPS[0],
}
_MESSAGE = {
    "role": "assistant",
    "content": "Hello there, how may I assist you today?",
    "refusal": None,
}
_PLAIN = {
    **_ANSWER,
    "object": "chat.completion",
    "choices": [{"index": 0, "message": _MESSAGE, "logprobs": None, "finish_reason": "stop"}],
    "usage": _USAGE,
}
_MODELS = [
    {"id": name, "object": "model", "owned_by": "bench"}
    for name in [*map(bytes.decode, _STREAMS), "drip"]
]

ANSWER = _json(_PLAIN)
PLAIN = whole(b"application/json", ANSWER)
MODELS = whole(b"application/json", _json({"object": "list", "data": _MODELS}))


class Replay(Requests):
    """One connection of the backend."""

    def answer(self, head: bytes, body: bytes) -> None:
        """Answer with what the request's model stands for."""
        if head.startswith(b"GET"):
            self.transport.write(MODELS)
        elif b'"stream":true' not in body and b'"stream": true' not in body:
            self.transport.write(PLAIN)
        elif b'"drip"' in body:
            self.transport.write(EVENT_STREAM)
            self._drip(0, random.random() * DRIP)  # 200 streams are not to beat as one
        else:
            self.transport.write(
                next(stream for model, stream in _STREAMS.items() if b'"%b"' % model in body)
            )

    def _drip(self, index: int, delay: float) -> None:
        asyncio.get_running_loop().call_later(delay, self._drop, index)

    def _drop(self, index: int) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(_DROPS[index])
        if index < DELTAS:
            self._drip(index + 1, DRIP)


if __name__ == "__main__":
    serve(Replay)
