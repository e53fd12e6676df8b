"""`python -m bench.attacks.backend`: a model, an MCP server and a receiver of webhooks in one; it prints its port.

What a request says decides what the model does: `hang`, `slow`, `reject`, or else answer at once. Calls of the MCP
server's tool and webhooks are never answered.
"""

import asyncio
import json
from typing import Any

from aiohttp import web

SLOW = 45.0
"""Seconds of a slow answer."""

TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 90000."
LIST = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}


async def models(request: web.Request) -> web.Response:
    """List the one model."""
    return web.json_response({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "bench"}]})


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer a request of Chat Completions."""
    body = await request.json()
    last = body["messages"][-1]
    word = last["content"][:6] if isinstance(last["content"], str) else ""
    if word == "reject":
        error = {"message": TOO_LARGE, "type": "tokens", "code": "rate_limit_exceeded"}
        return web.json_response({"error": error}, status=429, headers={"retry-after": "600"})
    if word.startswith("slow"):
        await asyncio.sleep(SLOW)
    delta: dict[str, Any] = {"role": "assistant", "content": "Hello."}
    if body.get("tools") and last["role"] == "user":
        function = {"name": body["tools"][0]["function"]["name"], "arguments": "{}"}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}],
        }
    end = "tool_calls" if "tool_calls" in delta else "stop"
    if not body.get("stream"):
        return web.json_response({"id": "c", "choices": [{"index": 0, "message": delta, "finish_reason": end}]})
    reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await reply.prepare(request)
    await reply.write(_event({"index": 0, "delta": delta, "finish_reason": None}))
    if word.startswith("hang"):
        await asyncio.sleep(3600)
    await reply.write(_event({"index": 0, "delta": {}, "finish_reason": end}) + b"data: [DONE]\n\n")
    return reply


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


async def mcp(request: web.Request) -> web.Response:
    """Offer a tool whose calls never return."""
    message = await request.json()
    if "id" not in message:
        return web.Response(status=202)
    results: dict[str, Any] = {"tools/list": LIST, "ping": {}}
    if message["method"] == "initialize":
        greeting = {"capabilities": {"tools": {}}, "serverInfo": {"name": "silent", "version": "1"}}
        results["initialize"] = {"protocolVersion": message["params"]["protocolVersion"], **greeting}
    if message["method"] not in results:
        await asyncio.sleep(3600)
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})


async def hook(request: web.Request) -> web.Response:
    """Receive a webhook, and never say so."""
    await asyncio.sleep(3600)
    return web.Response()


async def main() -> None:
    """Serve until standard input ends."""
    app = web.Application(client_max_size=2**30)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/mcp", mcp)
    app.router.add_post("/hook", hook)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
