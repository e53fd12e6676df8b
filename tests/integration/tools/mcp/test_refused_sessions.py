"""Sessions that a server no longer knows: one new session, and no call is executed twice."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from tests.integration.tools.mcp.raw import Raw, raw, serving
from tests.integration.tools.mcp.support import at, call, using

DONE = {"content": [{"type": "text", "text": "done"}]}


def error(message: str, code: int = -32001) -> dict[str, Any]:
    """A protocol error."""
    return {"jsonrpc": "2.0", "id": 3, "error": {"code": code, "message": message}}


REFUSALS: dict[str, Any] = {
    "400": lambda: web.Response(status=400),
    "400 with text": lambda: web.Response(status=400, text="no such session"),
    "400 with an error": lambda: web.json_response(
        error("Bad Request: Server not initialized", -32000), status=400
    ),
    "404": lambda: web.Response(status=404),
    "410": lambda: web.Response(status=410),
    "200": lambda: web.json_response(error("Session not found")),
}


class Restarted(Raw):
    """A server with sessions, each good for as many calls as `lasts`; then it refuses the
    session.
    """

    def __init__(self, refusal: Any, lasts: int = 1) -> None:
        super().__init__(lambda method, params: DONE)
        self.refusal = refusal
        self.lasts = lasts
        self.left = lasts
        self.done = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """See `Raw.answer`."""
        if request.method == "POST":
            message = await request.json()
            if message["method"] == "initialize":
                self.left = self.lasts
                self.headers = {"mcp-session-id": f"session-{len(self.requested)}"}
            elif message["method"] == "tools/call":
                if self.left == 0:
                    self.requested.append("refused")
                    refused: web.Response = self.refusal()
                    if refused.text and (stated := refused.text).startswith("{"):
                        refused.text = stated.replace('"id": 3', f'"id": {message["id"]}')
                    return refused
                self.left -= 1
                self.done += 1
        return await super().answer(request)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_session_is_replaced_once_and_the_call_executed_once(refusal: str) -> None:
    server = Restarted(REFUSALS[refusal])
    async with serving(server.answer) as host, using() as servers:
        outcomes = [await call(servers, at(f"{host}/mcp"), "any") for _ in range(3)]
    assert [one.fields for one in outcomes] == [{"output": "done", "error": None}] * 3
    assert (
        server.done,
        server.requested.count("initialize"),
        server.requested.count("refused"),
    ) == (3, 3, 2)


@pytest.mark.parametrize("refusal", ["400", "200"])
async def test_a_server_that_refuses_every_session_is_called_twice(refusal: str) -> None:
    server = Restarted(REFUSALS[refusal], lasts=0)
    async with serving(server.answer) as host, using() as servers:
        outcome = await call(servers, at(f"{host}/mcp"), "any")
    assert outcome.is_failed
    assert (server.requested.count("initialize"), server.requested.count("refused")) == (2, 2)


async def test_an_error_of_a_tool_that_mentions_a_session_is_not_repeated() -> None:
    server = Restarted(
        lambda: web.json_response(error("The form was sent, then the session expired")), lasts=0
    )
    async with serving(server.answer) as host, using() as servers:
        outcome = await call(servers, at(f"{host}/mcp"), "any")
    assert outcome.fields["error"]["type"] == "mcp_protocol_error"
    assert server.requested.count("refused") == 1


async def test_a_refused_call_does_not_end_another_that_is_in_progress() -> None:
    release = asyncio.Event()
    reached = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "POST" and (message := await request.json())["method"] == "tools/call":
            if message["params"]["name"] == "bad":
                return web.Response(status=400)
            reached.set()
            await release.wait()
        return await server.answer(request)

    server = Raw(lambda method, params: DONE, headers={"mcp-session-id": "session-1"})
    async with serving(answer) as host, using() as servers:
        requested = at(f"{host}/mcp")
        staying = asyncio.create_task(call(servers, requested, "good"))
        await reached.wait()
        assert (await call(servers, requested, "bad")).fields["error"]["code"] == 400
        release.set()
        assert (await staying).fields["output"] == "done"


async def test_a_request_without_a_session_is_not_repeated() -> None:
    def send(method: str, params: Mapping[str, Any]) -> web.Response:
        return web.Response(status=400)

    async with raw(send) as server, using() as servers:
        outcome = await call(servers, at(server.url), "any")
    assert outcome.fields["error"]["code"] == 400
    assert server.requested.count("tools/call") == 1


async def test_the_error_of_a_server_of_events_alone_is_that_of_its_last_attempt() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=405 if request.method == "POST" else 401)

    async with serving(answer) as host, using() as servers:
        listing = await servers.list(at(f"{host}/sse", authorization="wrong"))
    assert listing.status == 401
