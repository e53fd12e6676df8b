"""An embedding server over HTTP on a port of this machine, with limits, that can be busy, and go
away and come back.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODEL = "e"

Refusal = tuple[int, Any]
"""A status and its body."""

DASHSCOPE: Refusal = (
    400,
    {"error": {"message": "batch size is invalid, it should not be larger than 10."}},
)
TEI: Refusal = (
    413,
    {"error": "batch size 64 > maximum allowed batch size 32", "error_type": "Validation"},
)
UNPROCESSABLE: Refusal = (
    422,
    {"detail": [{"loc": ["body", "input"], "msg": "List should have at most 64 items"}]},
)
OPENAI_LENGTH: Refusal = (
    400,
    {"error": {"message": "This model's maximum context length is 512 tokens."}},
)
OLLAMA_LENGTH: Refusal = (
    500,
    {"error": {"message": "the input length exceeds the context length", "type": "api_error"}},
)
LLAMA_LENGTH: Refusal = 500, {"error": {"message": "input is too large to process", "code": 500}}
UNKNOWN_LENGTH: Refusal = 500, "Internal Server Error"
BUSY: Refusal = 429, {"error": {"message": "Rate limit reached.", "type": "requests"}}
DOWN: Refusal = 503, {"error": {"message": "Model is overloaded."}}


def tokens_of(text: str) -> int:
    """The server's own count, which is not the estimate of ours."""
    return -(-len(text) // 3)


@dataclass
class EmbeddingServer:
    """The server while it runs. `url` is the same after it has come back."""

    most_texts: int = 64
    most_tokens: int = 8192
    too_many: Refusal = DASHSCOPE
    too_long: Refusal = OPENAI_LENGTH
    forbidden: str = "\0"
    """A character that the server refuses in texts of any length."""
    busy: list[tuple[Refusal, dict[str, str]]] = field(default_factory=list)
    """Refusals with headers, for the next calls."""
    calls: list[list[str]] = field(default_factory=list)
    """The texts of each call."""
    accepted: list[str] = field(default_factory=list)
    """The texts that have vectors."""
    url: str = ""
    _runner: web.AppRunner | None = None
    _port: int = 0

    async def begin(self) -> None:
        """Listen, again at the same port if it is known."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/embeddings", self._embed)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}/v1"

    async def leave(self) -> None:
        """Close the port and all connections."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _embed(self, request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        self.calls.append(texts)
        refusal, headers = self._refusal(texts)
        if refusal is not None:
            status, body = refusal
            return web.json_response(body, status=status, headers=headers)
        self.accepted += texts
        data = [{"index": n, "embedding": direction(text)} for n, text in enumerate(texts)]
        return web.json_response({"object": "list", "data": data})

    def _refusal(self, texts: list[str]) -> tuple[Refusal | None, dict[str, str]]:
        if self.busy:
            return self.busy.pop(0)
        if len(texts) > self.most_texts:
            return self.too_many, {}
        if any(tokens_of(text) > self.most_tokens or self.forbidden in text for text in texts):
            return self.too_long, {}
        return None, {}


def direction(text: str) -> list[float]:
    """The vector of a text: that of cats, of invoices, or of anything else."""
    return [1.0 + 9 * text.count("feline"), 1.0 + 9 * text.count("bill"), 1.0]


@asynccontextmanager
async def embedding_server(**limits: Any) -> AsyncIterator[EmbeddingServer]:
    """Serve embeddings with these limits."""
    server = EmbeddingServer(**limits)
    await server.begin()
    try:
        yield server
    finally:
        await server.leave()
