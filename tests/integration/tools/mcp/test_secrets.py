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
from tests.integration.tools.mcp.raw import Content, raw, serving
from tests.integration.tools.mcp.support import HERE, at, call, using
from tests.support.certificates import certificate
from tests.support.mcp_server import McpServer, mcp_serving

CANARY = "ca7ary"
CREDENTIALS = {"authorization": f"token-{CANARY}", "headers": {"x-api-key": f"key-{CANARY}"}}
WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_every_request_has_its_credentials(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        await servers.list(at(WAYS[way](server), **CREDENTIALS))
        await call(servers, at(WAYS[way](server), **CREDENTIALS), "add", a=1, b=1)
    assert len(server.headers) > 2
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer token-{CANARY}"}
    assert {headers["x-api-key"] for headers in server.headers} == {f"key-{CANARY}"}


async def test_a_token_with_an_explicit_kind_is_sent_unchanged() -> None:
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
                listing = await servers.list(McpTool(server_label="kept", **CREDENTIALS))
                outcome = await call(servers, McpTool(server_label="kept", **CREDENTIALS), "x")
    assert thief == []
    assert "HTTP status" in listing.error
    assert outcome.fields["error"]["code"] == status


async def test_a_redirect_within_the_origin_is_followed_with_the_credentials() -> None:
    async with mcp_serving() as server, using() as servers:

        async def away(request: Any) -> Any:
            return RedirectResponse("/mcp", 307) if request.url.path == "/old" else None

        server.answer = away
        listing = await servers.list(at(f"{server.host}/old", **CREDENTIALS))
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
                listing = await servers.list(at(f"{host}/sse", **CREDENTIALS))
    assert thief == []
    assert listing.error


async def test_credentials_are_neither_logged_nor_returned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def send(method: str, params: Mapping[str, Any]) -> Content:
        if method == "tools/list":
            return web.Response(status=401, headers={"www-authenticate": "Bearer"})
        return web.Response(text="not json", content_type="application/json")

    caplog.set_level(logging.DEBUG)
    reported: list[object] = []
    async with raw(send) as server, using(timeout=1) as servers:
        for url in (f"{server.url}?key=url-{CANARY}", f"http://127.0.0.1:1/{CANARY}"):
            requested = at(url, **CREDENTIALS)
            reported += [
                await servers.list(requested),
                await call(servers, requested, "x", secret=f"argument-{CANARY}"),
            ]
        reported.append(Targets([], HERE, {}).find(at(server.url, **CREDENTIALS)))
    assert any(CANARY in str(request.headers) for request in server.requests)
    assert CANARY not in caplog.text
    assert CANARY not in repr(reported)
    assert CANARY not in Targets([], HERE, {}).find(at(server.url, **CREDENTIALS)).key


def parrot(method: str, params: Mapping[str, Any], received: str) -> Content:
    """Say whatever was heard, wherever a server may say anything."""
    if method == "tools/list":
        schema = {"type": "object", "properties": {received: {"description": received}}}
        return {"tools": [{"name": "x", "description": received, "inputSchema": schema}]}
    content = [
        {"type": "text", "text": f"You sent {received}."},
        {"type": "resource", "resource": {"uri": received, "text": received}},
    ]
    if params["name"] == "refuse":
        return web.json_response(
            {"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": received}}, status=400
        )
    return {"content": content, "isError": params["name"] == "fail"}


async def test_a_server_that_repeats_the_credentials_is_not_quoted() -> None:
    received = [f"Bearer token-{CANARY}", f"key-{CANARY}"]
    async with (
        raw(lambda method, params: parrot(method, params, " ".join(received))) as server,
        using() as servers,
    ):
        requested = at(server.url, **CREDENTIALS)
        listing = await servers.list(requested)
        outcomes = [await call(servers, requested, name) for name in ("x", "fail", "refuse")]
    assert listing.tools[0]["description"] == "Bearer [removed] [removed]"
    assert outcomes[0].stated == "You sent Bearer [removed] [removed].\nBearer [removed] [removed]"
    assert [outcome.is_failed for outcome in outcomes] == [False, True, True]
    assert "[removed]" in str(outcomes[2].fields["error"])
    assert CANARY not in repr([listing, outcomes])


async def test_the_configured_key_is_never_sent_to_clients() -> None:
    async with raw(lambda method, params: parrot(method, params, f"sk-{CANARY}")) as server:
        configured = McpServerConfig(label="kept", url=server.url, key_env="KEPT")
        async with using(configured, environment={"KEPT": f"sk-{CANARY}"}) as servers:
            reported = [
                await servers.list(McpTool(server_label="kept")),
                await call(servers, McpTool(server_label="kept"), "x"),
            ]
    assert CANARY not in repr(reported)


def test_credentials_are_removed_from_a_servers_messages() -> None:
    secrets = secrets_of(
        {"x-user": "alice@example.com", "x-api-key": "abc", "authorization": "Basic aGk6aG8="}
    )
    assert secrets == ("aGk6aG8=",)
    assert without(secrets, {"to": ["alice@example.com", 1, None]}) == {
        "to": ["alice@example.com", 1, None]
    }


async def test_no_cookies_are_stored_and_no_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async with raw(lambda method, params: {"tools": []}) as server, using(list_ttl=0) as servers:
        server.headers["set-cookie"] = "tracked=yes"
        for _ in range(2):
            assert (await servers.list(at(server.url))).error == ""
    assert len(server.requests) > 3
    assert not any("cookie" in request.headers for request in server.requests)


async def test_neither_our_keys_nor_those_of_backends_go_to_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{CANARY}")
    async with mcp_serving() as server, using() as servers:
        await servers.list(at(server.url))
        await call(servers, at(server.url), "add", a=1, b=1)
    assert not any("authorization" in headers for headers in server.headers)
    assert CANARY not in str(server.headers)


async def test_the_key_of_a_server_of_the_settings_goes_to_no_other() -> None:
    async with mcp_serving() as stored, mcp_serving() as other:
        configured = McpServerConfig(label="kept", url=stored.url, key_env="KEPT")
        async with using(configured, environment={"KEPT": f"sk-{CANARY}"}) as servers:
            await servers.list(McpTool(server_label="kept"))
            await servers.list(at(other.url))
            await servers.list(at(stored.url))
    keys = [headers.get("authorization") for headers in stored.headers]
    assert keys.index(None) > keys.index(f"Bearer sk-{CANARY}")
    assert not any("authorization" in headers for headers in other.headers)


async def test_a_request_gets_no_session_of_the_settings_to_an_address_that_it_may_not_reach() -> (
    None
):
    inside = McpServerConfig(label="inside", url="")
    async with mcp_serving() as server:
        inside.url = server.url.replace("127.0.0.1", "localhost")
        async with using(inside, reach=Reach()) as servers:
            assert (await servers.list(McpTool(server_label="inside"))).error == ""
            requests_before = len(server.headers)
            assert "private" in (await servers.list(at(inside.url))).error
            assert "private" in (await servers.list(at(server.url))).error
    assert len(server.headers) == requests_before


async def test_a_name_is_resolved_and_checked_for_every_connection() -> None:
    addresses = ["127.0.0.1"]

    async def resolve(name: str, asker: Asker) -> list[str]:
        assert name == "rebinding.example"
        return list(addresses)

    async with raw(lambda method, params: {"tools": []}) as server:
        named = at(server.url.replace("127.0.0.1", "rebinding.example"))
        async with using(reach=Reach(HERE.networks, resolve=resolve), idle=0) as servers:
            first = await servers.list(named)
            addresses[:] = ["127.0.0.1", "10.0.0.1"]
            outcome = await call(servers, named, "x")
    assert first.error == ""
    assert {request.host for request in server.requests} == {named.server_url.split("/")[2]}
    assert "its address is private" in outcome.fields["error"]["message"]
    assert "`outgoing_networks`" in outcome.fields["error"]["message"]


@pytest.mark.parametrize(
    ("displayed", "is_right"), [("mcp.example", True), ("other.example", False)]
)
async def test_a_server_at_a_checked_address_must_still_show_that_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, displayed: str, is_right: bool
) -> None:
    async def resolve(name: str, asker: Asker) -> list[str]:
        return ["127.0.0.1"]

    context, file = certificate(tmp_path, displayed, timedelta(days=1))
    monkeypatch.setattr(
        "antiphon.tools.mcp.session.trusted_roots",
        lambda: ssl.create_default_context(cafile=str(file)),
    )
    async with raw(lambda method, params: {"tools": []}, context) as server:
        named = at(server.url.replace("127.0.0.1", "mcp.example"), **CREDENTIALS)
        async with using(reach=Reach(HERE.networks, resolve=resolve)) as servers:
            listing = await servers.list(named)
    if is_right:
        assert listing.error == ""
        assert {request.host.partition(":")[0] for request in server.requests} == {"mcp.example"}
    else:
        assert listing.error.endswith("its TLS certificate was rejected.")
        assert server.requests == []
