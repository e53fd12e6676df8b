"""A simulated Chat Completions server: it says the same whenever it is asked the same, and
remembers who asked what.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from simulation.loop import Process, SimulatedLoop

MODEL = "m"

THINKING = 0.3
"""The longest time before the first byte, in seconds."""

LONG = 50
"""Of 256 answers, how many take longer than a worker may be silent."""

PAUSE = 0.25
"""The longest time between two words, in seconds."""


def words_for(question: str) -> list[str]:
    """Return the words that answer a question."""
    seed = sha256(question.encode()).digest()
    count = 1 + seed[31] % 12
    if seed[30] < LONG:
        count += 90
    return [f"{question}:{seed[place % 29]}.{place} " for place in range(count)]


def text_for(question: str) -> str:
    """Return the answer to a question."""
    return "".join(words_for(question))


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass(slots=True)
class Moods:
    """How often a backend fails."""

    refuses: float = 0.0
    """The chance of an error status."""
    breaks: float = 0.0
    """The chance that a word is the last before the connection is closed."""
    hangs: float = 0.0
    """The chance that a word is the last before silence."""


@dataclass(slots=True)
class SimulatedBackend:
    """One backend. `moods` can change at any time."""

    name: str
    loop: SimulatedLoop
    process: Process
    dice: random.Random
    moods: Moods = field(default_factory=Moods)
    requested: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    """The questions of the histories with which each question arrived, in order, with itself."""

    def protocol(self) -> "BackendProtocol":
        """Return the protocol of a new connection."""
        return BackendProtocol(self)


class BackendProtocol(asyncio.Protocol):
    """A connection to a backend: one request after the other."""

    def __init__(self, backend: SimulatedBackend) -> None:
        self._backend = backend
        self._buffer = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        size = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(rest) < size:
            return
        self._buffer = rest[size:]
        work = self._reply(head.split(b" ", 1)[0], rest[:size])
        self._task = self._backend.loop.run_in(self._backend.process, work)

    async def _reply(self, method: bytes, body: bytes) -> None:
        backend = self._backend
        dice, moods = backend.dice, backend.moods
        await asyncio.sleep(dice.random() * THINKING)
        if method == b"GET":
            self._send_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            return
        request = json.loads(body)
        questions = [one["content"] for one in request["messages"] if one["role"] == "user"]
        question = questions[-1]
        backend.requested.setdefault(question, set()).add(tuple(questions))
        if dice.random() < moods.refuses:
            status = dice.choice((500, 502, 503, 429))
            self._send_json(status, {"error": {"message": "simulated", "code": None}})
            return
        if not request.get("stream"):
            message = {"role": "assistant", "content": text_for(question)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = _usage(question)
            self._send_json(200, {"object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self._transport.write(STREAM_HEAD)
        for chunk in _chunks(question):
            await asyncio.sleep(dice.random() * PAUSE)
            if dice.random() < moods.breaks:
                self._transport.close()
                return
            if dice.random() < moods.hangs:
                await asyncio.sleep(1e6)
            self._transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self._transport.write(b"0\r\n\r\n")

    def _send_json(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        head = b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % (status, len(body)) + body)


def _chunks(question: str) -> Iterator[bytes]:
    for word in words_for(question):
        yield _event({"content": word}, None)
    yield _event({}, "stop")
    yield b"data: " + json.dumps({"choices": [], "usage": _usage(question)}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _usage(question: str) -> dict[str, int]:
    count = len(words_for(question))
    return {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count}


def _event(delta: dict[str, Any], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "chatcmpl-1", "choices": [choice]}).encode() + b"\n\n"
