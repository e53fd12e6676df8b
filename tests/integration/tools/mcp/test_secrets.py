"""What is lent to a server goes to its own origin and nowhere else, and is told to nobody."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from starlette.responses import RedirectResponse

from antiphon.config import McpServerConfig
from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import Reach
from antiphon.protocol.tools import McpTool
from antiphon.tools.mcp.result import secrets_of, without
from antiphon.tools.mcp.target import Targets
from tests.integration.tools.mcp.raw import Said, raw, serving
from tests.integration.tools.mcp.support import HERE, at, call, using
from tests.support.certificates import certificate
from tests.support.mcp_server import McpServer, mcp_serving

CANARY = "ca7ary"
LENT = {"authorization": f"token-{CANARY}", "headers": {"x-api-key": f"key-{CANARY}"}}
WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_every_request_has_what_was_lent_for_it(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        await servers.list(at(WAYS[way](server), **LENT))
        await call(servers, at(WAYS[way](server), **LENT), "add", a=1, b=1)
    assert len(server.headers) > 2
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer token-{CANARY}"}
    assert {headers["x-api-key"] for headers in server.headers} == {f"key-{CANARY}"}


async def test_a_token_that_says_already_what_it_is_goes_as_it_is() -> None:
    async with mcp_serving() as server, using() as servers:
        await servers.list(at(server.url, authorization="Bearer already"))
    assert {headers["authorization"] for headers in server.headers} == {"Bearer already"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("transport", ["auto", "sse"])
async def test_a_redirect_to_another_origin_is_not_followed(status: int, transport: str) -> None:
    thief: list[web.Request] = []

    async def steal(request: web.Request) -> web.Response:
        thief.append(request)
        return web.Response()

    async with serving(steal) as elsewhere:

        async def send_away(request: web.Request) -> web.Response:
            return web.Response(status=status, headers={"location": f"{elsewhere}/mcp"})

        async with serving(send_away) as host:
            configured = McpServerConfig(label="kept", url=f"{host}/mcp", transport=transport)  # type: ignore[arg-type]
            async with using(configured) as servers:
                listing = await servers.list(McpTool(server_label="kept", **LENT))
                outcome = await call(servers, McpTool(server_label="kept", **LENT), "x")
    assert thief == []
    assert "HTTP status" in listing.error
    assert outcome.fields["error"]["code"] == status


async def test_a_redirect_within_the_origin_is_followed_with_what_was_lent() -> None:
    async with mcp_serving() as server, using() as servers:

        async def away(request: Any) -> Any:
            return RedirectResponse("/mcp", 307) if request.url.path == "/old" else None

        server.answer = away
        listing = await servers.list(at(f"{server.host}/old", **LENT))
    assert listing.error == ""
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer token-{CANARY}"}


async def test_events_that_name_another_origin_for_the_posts_get_none() -> None:
    thief: list[web.Request] = []

    async def steal(request: web.Request) -> web.Response:
        thief.append(request)
        return web.Response(status=202)

    async with serving(steal) as elsewhere:

        async def events(request: web.Request) -> web.StreamResponse:
            if request.method != "GET":
                return web.Response(status=405)
            answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await answer.prepare(request)
            await answer.write(f"event: endpoint\ndata: {elsewhere}/messages\n\n".encode())
            await asyncio.Event().wait()
            return answer

        async with serving(events) as host, using() as servers:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("antiphon.tools.mcp.sessions.OPENING", 0.5)
                listing = await servers.list(at(f"{host}/sse", **LENT))
    assert thief == []
    assert listing.error


async def test_nothing_that_was_lent_is_logged_or_told(caplog: pytest.LogCaptureFixture) -> None:
    def say(method: str, params: Mapping[str, Any]) -> Said:
        if method == "tools/list":
            return web.Response(status=401, headers={"www-authenticate": "Bearer"})
        return web.Response(text="not json", content_type="application/json")

    caplog.set_level(logging.DEBUG)
    told: list[object] = []
    async with raw(say) as server, using(timeout=1) as servers:
        for url in (f"{server.url}?key=url-{CANARY}", f"http://127.0.0.1:1/{CANARY}"):
            asked = at(url, **LENT)
            told += [await servers.list(asked), await call(servers, asked, "x", secret=f"argument-{CANARY}")]
        told.append(Targets([], HERE, {}).find(at(server.url, **LENT)))
    assert any(CANARY in str(request.headers) for request in server.requests)
    assert CANARY not in caplog.text
    assert CANARY not in repr(told)
    assert CANARY not in Targets([], HERE, {}).find(at(server.url, **LENT)).key


def parrot(method: str, params: Mapping[str, Any], heard: str) -> Said:
    """Say whatever was heard, wherever a server may say anything."""
    if method == "tools/list":
        schema = {"type": "object", "properties": {heard: {"description": heard}}}
        return {"tools": [{"name": "x", "description": heard, "inputSchema": schema}]}
    content = [
        {"type": "text", "text": f"You sent {heard}."},
        {"type": "resource", "resource": {"uri": heard, "text": heard}},
    ]
    if params["name"] == "refuse":
        return web.json_response({"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": heard}}, status=400)
    return {"content": content, "isError": params["name"] == "fail"}


async def test_a_server_that_repeats_what_it_was_lent_is_not_quoted() -> None:
    heard = [f"Bearer token-{CANARY}", f"key-{CANARY}"]
    async with raw(lambda method, params: parrot(method, params, " ".join(heard))) as server, using() as servers:
        asked = at(server.url, **LENT)
        listing = await servers.list(asked)
        outcomes = [await call(servers, asked, name) for name in ("x", "fail", "refuse")]
    assert listing.tools[0]["description"] == "Bearer [removed] [removed]"
    assert outcomes[0].said == "You sent Bearer [removed] [removed].\nBearer [removed] [removed]"
    assert [outcome.is_failed for outcome in outcomes] == [False, True, True]
    assert "[removed]" in str(outcomes[2].fields["error"])
    assert CANARY not in repr([listing, outcomes])


async def test_the_key_of_the_settings_is_shown_to_no_client_by_its_server() -> None:
    async with raw(lambda method, params: parrot(method, params, f"sk-{CANARY}")) as server:
        configured = McpServerConfig(label="kept", url=server.url, key_env="KEPT")
        async with using(configured, environment={"KEPT": f"sk-{CANARY}"}) as servers:
            told = [
                await servers.list(McpTool(server_label="kept")),
                await call(servers, McpTool(server_label="kept"), "x"),
            ]
    assert CANARY not in repr(told)


def test_what_is_no_credential_is_left_in_what_a_server_says() -> None:
    secrets = secrets_of({"x-user": "alice@example.com", "x-api-key": "abc", "authorization": "Basic aGk6aG8="})
    assert secrets == ("aGk6aG8=",)
    assert without(secrets, {"to": ["alice@example.com", 1, None]}) == {"to": ["alice@example.com", 1, None]}


async def test_no_cookies_are_kept_and_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async with raw(lambda method, params: {"tools": []}) as server, using(list_ttl=0) as servers:
        server.headers["set-cookie"] = "tracked=yes"
        for _ in range(2):
            assert (await servers.list(at(server.url))).error == ""
    assert len(server.requests) > 3
    assert not any("cookie" in request.headers for request in server.requests)


async def test_neither_our_keys_nor_those_of_backends_go_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{CANARY}")
    async with mcp_serving() as server, using() as servers:
        await servers.list(at(server.url))
        await call(servers, at(server.url), "add", a=1, b=1)
    assert not any("authorization" in headers for headers in server.headers)
    assert CANARY not in str(server.headers)


async def test_the_key_of_a_server_of_the_settings_goes_to_no_other() -> None:
    async with mcp_serving() as kept, mcp_serving() as other:
        configured = McpServerConfig(label="kept", url=kept.url, key_env="KEPT")
        async with using(configured, environment={"KEPT": f"sk-{CANARY}"}) as servers:
            await servers.list(McpTool(server_label="kept"))
            await servers.list(at(other.url))
            await servers.list(at(kept.url))
    keys = [headers.get("authorization") for headers in kept.headers]
    assert keys.index(None) > keys.index(f"Bearer sk-{CANARY}")
    assert not any("authorization" in headers for headers in other.headers)


async def test_a_request_gets_no_session_of_the_settings_to_an_address_that_it_may_not_reach() -> None:
    inside = McpServerConfig(label="inside", url="")
    async with mcp_serving() as server:
        inside.url = server.url.replace("127.0.0.1", "localhost")
        async with using(inside, reach=Reach()) as servers:
            assert (await servers.list(McpTool(server_label="inside"))).error == ""
            asked = len(server.headers)
            assert "private" in (await servers.list(at(inside.url))).error
            assert "private" in (await servers.list(at(server.url))).error
    assert len(server.headers) == asked


async def test_a_name_is_looked_up_and_looked_at_for_every_connection() -> None:
    addresses = ["127.0.0.1"]

    async def look_up(name: str, asker: Asker) -> list[str]:
        assert name == "rebinding.example"
        return list(addresses)

    async with raw(lambda method, params: {"tools": []}) as server:
        named = at(server.url.replace("127.0.0.1", "rebinding.example"))
        async with using(reach=Reach(HERE.networks, look_up=look_up), idle=0) as servers:
            first = await servers.list(named)
            addresses[:] = ["127.0.0.1", "10.0.0.1"]
            outcome = await call(servers, named, "x")
    assert first.error == ""
    assert {request.host for request in server.requests} == {named.server_url.split("/")[2]}
    assert "its address is private" in outcome.fields["error"]["message"]
    assert "`outgoing_networks`" in outcome.fields["error"]["message"]


@pytest.mark.parametrize(("shown", "is_right"), [("mcp.example", True), ("other.example", False)])
async def test_a_server_at_a_checked_address_must_still_show_that_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, is_right: bool
) -> None:
    async def look_up(name: str, asker: Asker) -> list[str]:
        return ["127.0.0.1"]

    context, file = certificate(tmp_path, shown, timedelta(days=1))
    monkeypatch.setattr(
        "antiphon.tools.mcp.session.trusted_roots", lambda: ssl.create_default_context(cafile=str(file))
    )
    async with raw(lambda method, params: {"tools": []}, context) as server:
        named = at(server.url.replace("127.0.0.1", "mcp.example"), **LENT)
        async with using(reach=Reach(HERE.networks, look_up=look_up)) as servers:
            listing = await servers.list(named)
    if is_right:
        assert listing.error == ""
        assert {request.host.partition(":")[0] for request in server.requests} == {"mcp.example"}
    else:
        assert listing.error.endswith("its TLS certificate was rejected.")
        assert server.requests == []
