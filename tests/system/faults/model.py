"""A model that takes its time, says the same whenever it is asked the same, and remembers who asked
when.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.web_app import serving_app

THOUGHT = "Let me think of {}."
PAUSE = 0.02
"""Seconds between two words."""


def answer_to(question: str) -> list[str]:
    """The words that answer a question: some, and always the same."""
    seed = hashlib.sha256(question.encode()).digest()
    return [f"{question}:{seed[i % 32]} " for i in range(5 + seed[31] % 30)]


def expected_text(question: str) -> str:
    return "".join(answer_to(question))


@dataclass
class Model:
    """`requested` holds for each question who asked it and when, in the loop's time; `answering`
    those under way.
    """

    requested: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    answering: set[str] = field(default_factory=set)
    url: str = ""

    def url_for(self, node: str) -> str:
        """The base URL by which a node is recognised."""
        return f"{self.url}/{node}/v1"

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "object": "list",
                "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "t"}],
            }
        )

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        question = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        self.requested.setdefault(question, []).append(
            (request.match_info["node"], time.monotonic())
        )
        chunks = [
            {"reasoning_content": THOUGHT.format(question)},
            *({"content": w} for w in answer_to(question)),
        ]
        if not body.get("stream"):
            message = {
                "role": "assistant",
                "reasoning_content": THOUGHT.format(question),
                "content": expected_text(question),
            }
            await asyncio.sleep(PAUSE)
            return web.json_response(
                {"object": "chat.completion", "choices": [_choice("message", message, "stop")]}
            )
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        self.answering.add(question)
        try:
            with suppress(ConnectionError):  # who asked was killed
                await reply.prepare(request)
                for chunk in chunks:
                    await reply.write(_event(_choice("delta", chunk, None)))
                    await asyncio.sleep(PAUSE)
                await reply.write(_event(_choice("delta", {}, "stop")) + b"data: [DONE]\n\n")
        finally:
            self.answering.discard(question)
        return reply


def _choice(name: str, value: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, name: value, "finish_reason": finish_reason}


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"id": "chatcmpl-1", "choices": [choice]}).encode() + b"\n\n"


@asynccontextmanager
async def thinking() -> AsyncIterator[Model]:
    """Run the model."""
    model = Model()
    app = web.Application()
    app.router.add_get("/{node}/v1/models", model.models)
    app.router.add_post("/{node}/v1/chat/completions", model.answer)
    async with serving_app(app, handler_cancellation=True) as model.url:
        yield model
