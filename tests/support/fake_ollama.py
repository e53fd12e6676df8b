"""A server that answers as Ollama does on loopback: windows that are loaded, prompts that are cut,
lines of JSON.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.raw_http import received, speaking

Body = dict[str, Any]

TOO_LONG = {"error": "the input length exceeds the context length"}
"""What its runner says of a prompt that it may not cut."""


@dataclass
class FakeOllama:
    """One model, `qwen3:latest`.

    A token is `density` characters of the messages and tools, as JSON has them.
    """

    trained: int = 131_072
    default: int = 4_096
    modelfile: int = 0
    loaded: int = 0
    """The window of the model in memory; 0 where it is not there."""
    memory: int = 131_072
    """Tokens of the largest window that fits into memory."""
    density: int = 4
    capabilities: tuple[str, ...] = ("completion", "tools")
    knows_truncate: bool = True
    """Whether it reads `truncate`, as newer versions do."""
    is_native: bool = True
    """Whether it has the native API: a gateway in front of an Ollama may have not."""
    missing: bool = False
    """The model is listed and not there: it is being deleted."""
    remote_host: str = ""
    refuses: int = 0
    """The status with which it refuses to answer; 0 if it answers."""
    is_cut: bool = False
    """Whether its streams break off before their end."""
    answers: list[list[Body]] = field(default_factory=list)
    """The messages of one answer after the other; without any, it says how much it read."""
    requests: list[Body] = field(default_factory=list)
    """The native requests for answers."""
    compatible: list[Body] = field(default_factory=list)
    """The requests for answers by `/v1`."""
    paths: list[str] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    """The windows that the model was loaded with, in this order."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve it; the base URL."""

        async def speak(reader: Any, writer: Any) -> None:
            while True:
                head, body = await received(reader)
                path = head.decode().split(" ", 2)[1]
                self.paths.append(path)
                status, kind, lines = self.reply(path, json.loads(body or b"null"))
                headers = f"content-type: {kind}\r\ntransfer-encoding: chunked\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{headers}\r\n".encode())
                for line in lines:
                    writer.write(b"%x\r\n%s\r\n" % (len(line), line))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")

        async with speaking(speak) as url:
            yield url

    def reply(self, path: str, body: Any) -> tuple[int, str, list[bytes]]:
        if path == "/v1/chat/completions":
            return self._compatible(body)
        if path == "/v1/models":
            return _json(
                {
                    "object": "list",
                    "data": [{"id": "qwen3:latest", "object": "model", "owned_by": "library"}],
                }
            )
        if path == "/api/version" and self.is_native:
            return _json({"version": "0.33.0"})
        if path == "/api/chat" and self.is_native:
            return self._native(body)
        if path == "/api/show":
            return _json(self._show())
        if path == "/api/ps":
            model = {"name": "qwen3:latest", "model": "qwen3:latest", "context_length": self.loaded}
            return _json({"models": [model] if self.loaded else []})
        return _json({"error": "not found"}, 404)

    def tokens(self, body: Body) -> int:
        return len(json.dumps([body["messages"], body.get("tools") or []])) // self.density

    def _show(self) -> Body:
        parameters = f"num_ctx                        {self.modelfile}" if self.modelfile else ""
        info = {"general.architecture": "qwen3", "qwen3.context_length": self.trained}
        displayed: Body = {
            "parameters": parameters,
            "model_info": info,
            "capabilities": list(self.capabilities),
        }
        return displayed | ({"remote_host": self.remote_host} if self.remote_host else {})

    def _load(self, wanted: int) -> bool:
        """Load the model with a window; whether there is memory for it."""
        window = min(wanted, self.trained)
        if window > self.memory:
            return False
        if window != self.loaded:
            self.loaded = window
            self.loads.append(window)
        return True

    def _native(self, body: Body) -> tuple[int, str, list[bytes]]:
        self.requests.append(body)
        if self.refuses:
            return _json({"error": "No."}, self.refuses)
        if self.missing:
            return _json({"error": f"model '{body['model']}' not found"}, 404)
        if body.get("think") and "thinking" not in self.capabilities:
            return _json({"error": f'"{body["model"]}" does not support thinking'}, 400)
        if not self._load(body.get("options", {}).get("num_ctx") or self.modelfile or self.default):
            return _json(
                {
                    "error": "model requires more system memory (9.1 GiB) than is available (4.0 "
                    "GiB)"
                },
                500,
            )
        if (
            self.tokens(body) > self.loaded
            and self.knows_truncate
            and body.get("truncate") is False
        ):
            return _json(TOO_LONG, 400)
        read, messages = self._answer(body)
        lines = [
            {"model": body["model"], "message": {"role": "assistant", **one}, "done": False}
            for one in messages
        ]
        end = {"done": True, "done_reason": "stop", "prompt_eval_count": read, "eval_count": 5}
        last = {"model": body["model"], "message": {"role": "assistant", "content": ""}, **end}
        if body.get("stream") is False:
            whole: Body = {"role": "assistant", "content": ""}
            for one in messages:
                whole |= {
                    name: whole.get(name, type(value)()) + value for name, value in one.items()
                }
            return _json({**last, "message": whole})
        return (
            200,
            "application/x-ndjson",
            [json.dumps(line).encode() + b"\n" for line in (*lines, *([last] * (not self.is_cut)))],
        )

    def _compatible(self, body: Body) -> tuple[int, str, list[bytes]]:
        self.compatible.append(body)
        self._load(self.modelfile or self.default)
        read, messages = self._answer(body)
        usage = {"prompt_tokens": read, "completion_tokens": 5, "total_tokens": read + 5}
        choices = [
            {"index": 0, "message": {"role": "assistant", **messages[0]}, "finish_reason": "stop"}
        ]
        return _json({"object": "chat.completion", "choices": choices, "usage": usage})

    def _answer(self, body: Body) -> tuple[int, list[Body]]:
        """The tokens that reach the model, the rest being cut, and what it says."""
        read = min(self.tokens(body), self.loaded)
        return read, self.answers.pop(0) if self.answers else [
            {"content": f"I read {read} tokens."}
        ]


def _json(value: Any, status: int = 200) -> tuple[int, str, list[bytes]]:
    return status, "application/json; charset=utf-8", [json.dumps(value).encode()]
