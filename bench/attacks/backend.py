"""`python -m bench.attacks.backend NICE`: a model, MCP servers, web pages, a receiver of webhooks;
it prints its port.

The text of a request decides what the model does: `hang`, `slow`, `reject`, URLs to open, or else
it answers at once. `/mcp/silent` and `/hook/silent` never answer a call; `/mcp/quick` and `/hook`
do.
"""

import asyncio
import json
import os
import re
import sys
from typing import Any

from aiohttp import web

SLOW = 45.0
"""Seconds of a slow answer."""

TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 90000."
TOOLS = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
FOUND = "found it"
"""What the quick MCP server and the small page say."""

CODE = "python"
"""The function by which a model runs code."""

LARGE = b"<p>word <b>bold</b> <a href=/x>link</a></p>"
PAGE_BYTES = 4_900_000

_Call = tuple[str, dict[str, Any]]


class Backend:
    """Everything that the server under attack calls.

    It remembers the responses of which a webhook told it.
    """

    def __init__(self) -> None:
        self._received: set[str] = set()
        self._large = LARGE * (PAGE_BYTES // len(LARGE))

    def app(self) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=2**30)
        app.router.add_get("/v1/models", _models)
        app.router.add_post("/v1/chat/completions", _answer)
        app.router.add_post("/mcp/{kind}", _mcp)
        app.router.add_post("/hook", self._hook)
        app.router.add_post("/hook/silent", _silent)
        app.router.add_get("/received/{id}", self._is_received)
        app.router.add_get("/page/large/{name}", self._large_page)
        app.router.add_get("/page/small/{name}", _small_page)
        return app

    async def _hook(self, request: web.Request) -> web.Response:
        event = await request.json()
        self._received.add(event["data"]["id"])
        return web.Response()

    async def _is_received(self, request: web.Request) -> web.Response:
        return web.json_response(request.match_info["id"] in self._received)

    async def _large_page(self, request: web.Request) -> web.Response:
        return web.Response(body=self._large, content_type="text/html")


async def _models(request: web.Request) -> web.Response:
    return web.json_response(
        {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "bench"}]}
    )


async def _answer(request: web.Request) -> web.StreamResponse:
    """Answer a request of Chat Completions."""
    body = await request.json()
    last = body["messages"][-1]
    text = last["content"] if isinstance(last["content"], str) else ""
    if text.startswith("reject"):
        error = {"message": TOO_LARGE, "type": "tokens", "code": "rate_limit_exceeded"}
        return web.json_response({"error": error}, status=429, headers={"retry-after": "600"})
    if text.startswith("slow"):
        await asyncio.sleep(SLOW)
    # After its calls the model repeats what the tools said.
    stated = "\n".join(
        str(message["content"]) for message in body["messages"] if message["role"] == "tool"
    )
    calls = _calls(body, text) if last["role"] == "user" else []
    delta: dict[str, Any] = {
        "role": "assistant",
        **(_called(calls) if calls else {"content": stated or "Hello."}),
    }
    end = "tool_calls" if calls else "stop"
    if not body.get("stream"):
        return web.json_response(
            {"id": "c", "choices": [{"index": 0, "message": delta, "finish_reason": end}]}
        )
    reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await reply.prepare(request)
    await reply.write(_event({"index": 0, "delta": delta, "finish_reason": None}))
    if text.startswith("hang"):
        await asyncio.sleep(3600)
    await reply.write(_event({"index": 0, "delta": {}, "finish_reason": end}) + b"data: [DONE]\n\n")
    return reply


def _calls(body: dict[str, Any], text: str) -> list[_Call]:
    """Return the calls that the model makes: the text as code, each URL of it as a page, any other
    tool once.
    """
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    if CODE in names:
        return [(CODE, {"code": text})]
    if "open_page" in names:
        return [("open_page", {"url": url}) for url in re.findall(r"http\S+", text)]
    return [(name, {}) for name in names[:1]]


def _called(calls: list[_Call]) -> dict[str, Any]:
    functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    return {
        "tool_calls": [
            {"index": number, "id": f"call_{number}", "type": "function", "function": function}
            for number, function in enumerate(functions)
        ]
    }


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


async def _mcp(request: web.Request) -> web.Response:
    """Offer a tool. Its calls return at once, or never."""
    message = await request.json()
    if "id" not in message:
        return web.Response(status=202)
    results: dict[str, Any] = {"tools/list": TOOLS, "ping": {}}
    if message["method"] == "initialize":
        greeting = {"capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}}
        results["initialize"] = {
            "protocolVersion": message["params"]["protocolVersion"],
            **greeting,
        }
    if request.match_info["kind"] == "quick":
        results["tools/call"] = {"content": [{"type": "text", "text": FOUND}]}
    if message["method"] not in results and message["method"] != "tools/call":
        error = {"code": -32601, "message": "Method not found"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
    if message["method"] not in results:
        await asyncio.sleep(3600)
    return web.json_response(
        {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
    )


async def _silent(request: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    return web.Response()


async def _small_page(request: web.Request) -> web.Response:
    text = f"<title>Small</title><p>{FOUND} {request.match_info['name']}</p>"
    return web.Response(text=text, content_type="text/html")


async def main(nice: int) -> None:
    """Serve until the process is ended, with a priority that is lower by `nice`."""
    os.nice(nice)
    runner = web.AppRunner(
        Backend().app(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
