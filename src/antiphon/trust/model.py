"""A scripted model for the servers under test: its answers are known, and it fails on request.

`python -m antiphon.trust.model [PREFIX]` runs it in a process of its own, which delays no client
that measures. The names of its models begin with the prefix: a tenant that floods has a process of
its own.
"""

import asyncio
import sys
from contextlib import suppress

import msgspec
from aiohttp import web

STEADY, SLOW, REFUSED, BROKEN = "steady", "slow", "refused", "broken"
"""Answers at once, word by word for seconds, with 500, and in parts: the connection is closed."""

FLOODED = "flooded-"
"""The prefix of the models of a tenant that floods."""

WORDS = tuple(f"word{number}" for number in range(40))
"""The answer, which each stream sends word by word."""

TEXT = " ".join(WORDS)

PAUSE = 0.15
"""Seconds between two words of the slow model: an answer takes six."""

CUT = 7
"""Words that the broken model sends before it closes the connection."""


PREFIX = web.AppKey("prefix", str)


async def serve(prefix: str = "") -> None:
    """Serve the model on a free port of this machine until it is ended, and print its base URL."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app[PREFIX] = prefix
    app.router.add_get("/v1/models", _models)
    app.router.add_post("/v1/chat/completions", _complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)  # noqa: T201 - it is read
    await asyncio.Event().wait()


async def _models(request: web.Request) -> web.Response:
    names = [request.app[PREFIX] + name for name in (STEADY, SLOW, REFUSED, BROKEN)]
    return web.json_response({"object": "list", "data": [{"id": name} for name in names]})


async def _complete(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    name = body["model"].removeprefix(request.app[PREFIX])
    if name == REFUSED:
        return web.json_response({"error": {"message": "Out of memory."}}, status=500)
    if not body.get("stream"):
        if name == SLOW:
            await asyncio.sleep(PAUSE * len(WORDS))
        message = {"role": "assistant", "content": TEXT}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": _usage(), "model": name})
    reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await reply.prepare(request)
    with suppress(ConnectionError):  # the server was killed
        await _stream(reply, request, name)
    return reply


async def _stream(reply: web.StreamResponse, request: web.Request, name: str) -> None:
    for place, word in enumerate(WORDS):
        if name == BROKEN and place == CUT and request.transport is not None:
            request.transport.close()
            return
        if name == SLOW:
            await asyncio.sleep(PAUSE)
        text = f" {word}" if place else word
        await reply.write(_event({"choices": [{"index": 0, "delta": {"content": text}}]}))
    choices = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    await reply.write(_event({"choices": choices, "usage": _usage()}) + b"data: [DONE]\n\n")


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 5, "completion_tokens": len(WORDS), "total_tokens": 5 + len(WORDS)}


def _event(data: object) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
