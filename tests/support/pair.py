"""Two scripted backends with one server in front of them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, Answer, ReplayBackend, completion, text
from tests.support.server import RunningServer, serve

KEY = "sk-secret-backend-key"
BODY = {"model": "m", "input": "Hi"}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}

Script = Callable[[dict[str, Any]], Answer]


def stating(word: str) -> Script:
    return lambda request: (
        Answer([text(word)]) if request.get("stream") else Answer([completion(word)], JSON)
    )


def error(status: int, message: str = "No.", code: str | None = None, **headers: str) -> Script:
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    return lambda _: Answer(
        [body], JSON, status, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def cut_before_the_first_token(_: dict[str, Any]) -> Answer:
    return Answer([b": wait\n\n"], cut=True)


class Pair:
    """Two scripted backends, `a` and `b`, and a server in front of them. `a` is asked first."""

    def __init__(self, server: RunningServer, *replays: ReplayBackend) -> None:
        self.server = server
        self.a, self.b = replays

    async def send_request(self, **more: Any) -> tuple[str, str]:
        """What a plain response says, and who gave it."""
        async with self.server.http.post(
            self.server.url + "/responses", json={**BODY, **more}
        ) as response:
            body = await response.json()
            assert response.status == 200, body
            return body["output"][0]["content"][0]["text"], response.headers["antiphon-backend"]


@asynccontextmanager
async def pair(
    a: Script,
    b: Script,
    models: tuple[str, str] = ("m", "m"),
    timeouts: dict[str, float] | None = None,
    **how: Any,
) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        replays = [
            await stack.enter_async_context(ReplayBackend(script).serve()) for script in (a, b)
        ]
        for replay, model in zip(replays, models, strict=True):
            replay.models = [{"id": model, "object": "model", "created": 1, "owned_by": "test"}]
        backends = [
            HttpBackend(name, replay.url, KEY, **(timeouts or {}))
            for name, replay in zip("ab", replays, strict=True)
        ]
        backend = await stack.enter_async_context(serve(*backends, **how))
        await backend.parts.models.refresh()
        yield Pair(backend, *replays)
