"""Upgrades that cannot be served, from outside: each is answered with an HTTP status and a
reason.
"""

import asyncio
import logging

import pytest

from antiphon.http_server import http_limits
from antiphon.http_server.websocket_limits import BoundedWebSocket
from antiphon.server.limits import ServerLimits
from antiphon.upstream.http import HttpBackend
from tests.support.keys import issue
from tests.support.raw import PATIENCE, connected, error_of, state, status_of
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.socket import talk
from tests.support.waiting import until

START = b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\n"
UPGRADE = b"connection: upgrade\r\nupgrade: websocket\r\n"
KEY = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
VERSION = b"sec-websocket-version: 13\r\n"
CLOSE = b"connection: close\r\n"
WHOLE = START + UPGRADE + KEY + VERSION

REFUSED: dict[str, tuple[bytes, int, str]] = {
    "a path that is not served": (
        WHOLE.replace(b"/responses", b"/nowhere"),
        404,
        "Unknown request URL",
    ),
    "a path of another method": (
        WHOLE.replace(b"/responses", b"/models"),
        404,
        "Unknown request URL",
    ),
    "no key": (START + UPGRADE + VERSION, 400, "Sec-WebSocket-Key"),
    "a key that is too short": (
        START + UPGRADE + VERSION + b"sec-websocket-key: YQ==\r\n",
        400,
        "Sec-WebSocket-Key",
    ),
    "a key that is not base64": (
        START + UPGRADE + VERSION + b"sec-websocket-key: !\r\n",
        400,
        "Sec-WebSocket-Key",
    ),
    "two keys": (WHOLE + KEY, 400, "Sec-WebSocket-Key"),
    "no version": (START + UPGRADE + KEY, 400, "Sec-WebSocket-Version"),
    "two versions": (WHOLE + b"sec-websocket-version: 8\r\n", 400, "Sec-WebSocket-Version"),
    "an older version": (WHOLE.replace(b"13", b"8"), 426, "Sec-WebSocket-Version"),
    "a version that is not a number": (WHOLE.replace(b"13", b"x"), 426, "Sec-WebSocket-Version"),
    "an invalid extension": (
        WHOLE + b"sec-websocket-extensions: ;\r\n",
        400,
        "Sec-WebSocket-Extensions",
    ),
    "a page of another origin": (WHOLE + b"origin: http://elsewhere.example\r\n", 403, "origin"),
    "two origins": (WHOLE + 2 * b"origin: http://127.0.0.1\r\n", 400, "Origin"),
    "a line that is too long": (WHOLE + b"x-a: " + b"a" * 8_001 + b"\r\n", 431, "longer than"),
    "a key that is not ASCII": (WHOLE.replace(b"==", b"\xad="), 400, "not ASCII"),
    "a value that no header has": (WHOLE + b"x-a: a\x7fb\r\n", 400, "Invalid HTTP"),
    "another method": (WHOLE.replace(b"GET", b"PUT") + CLOSE, 405, "PUT"),
    "an older HTTP": (WHOLE.replace(b"HTTP/1.1", b"HTTP/1.0"), 426, "WebSocket"),
    "a body": (WHOLE + CLOSE + b"content-length: 2\r\n", 426, "WebSocket"),
}
"""A handshake without its end -> the status and a part of the reason."""


def reason_of(reply: bytes) -> str:
    return str(error_of(reply)["message"])


@pytest.mark.parametrize("name", REFUSED)
async def test_an_impossible_upgrade_is_answered_with_a_status_and_a_reason(
    server: RunningServer, name: str
):
    head, status, reason = REFUSED[name]
    reply = await state(server.url, head + b"\r\n" + (b"{}" if name == "a body" else b""))
    assert status_of(reply) == status, reply
    assert reason in reason_of(reply)
    async with talk(server) as one:
        assert (await one.created())["status"] == "completed"


async def refused(server: RunningServer, head: bytes = WHOLE) -> tuple[int, str]:
    """The status and the reason of an upgrade."""
    reply = await state(server.url, head + b"\r\n")
    return status_of(reply), reason_of(reply)


async def test_the_options_of_a_connection_can_be_in_several_lines(server: RunningServer):
    async with connected(server.url) as (reader, writer):
        writer.write(WHOLE + b"connection: keep-alive\r\n\r\n")
        assert (
            await asyncio.wait_for(reader.readline(), PATIENCE)
            == b"HTTP/1.1 101 Switching Protocols\r\n"
        )


async def test_the_version_that_is_supported_is_named_to_a_client_with_another(
    server: RunningServer,
):
    reply = await state(server.url, WHOLE.replace(b"13", b"8") + b"\r\n")
    head = reply.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
    assert {b"sec-websocket-version: 13", b"upgrade: websocket"} <= {*head}


async def test_an_upgrade_without_an_api_key_is_answered_with_401(server: RunningServer):
    await issue(server.parts.store)
    status, reason = await refused(server)
    assert status == 401
    assert "API key" in reason


async def test_an_upgrade_for_another_host_is_answered_with_a_reason(backend: ReplayBackend):
    limits = ServerLimits(hosts=frozenset({"127.0.0.1"}))
    async with serve(HttpBackend("replay", backend.url), limits=limits) as server:
        status, reason = await refused(server, WHOLE.replace(b"127.0.0.1", b"elsewhere.example"))
    assert status in range(400, 500)
    assert "elsewhere.example" in reason


async def test_an_upgrade_on_one_connection_too_many_is_answered_with_503(backend: ReplayBackend):
    async with (
        serve(HttpBackend("replay", backend.url), limits=ServerLimits(connections=1)) as server,
        talk(server) as one,
    ):
        status, reason = await refused(server)
        assert (await one.created())["status"] == "completed"
    assert (status, reason) == (503, http_limits.OVERLOADED)


async def test_an_upgrade_to_a_server_that_stops_is_answered_with_503(backend: ReplayBackend):
    go = asyncio.Event()
    backend.script = lambda request: Answer([sse(delta(content="Once"), done=False)], wait=go)
    async with (
        serve(HttpBackend("replay", backend.url), grace=PATIENCE) as server,
        talk(server) as one,
    ):
        await one.send_request()
        await one.until("response.output_text.delta")
        async with connected(server.url) as (reader, writer):
            server.host.stop(PATIENCE)
            await until(lambda: not server.parts.process.accepts_work)
            writer.write(WHOLE + b"\r\n")
            reply = await asyncio.wait_for(reader.read(), PATIENCE)
        go.set()
    assert status_of(reply) == 503
    assert "shutting down" in reason_of(reply)


async def test_an_upgrade_to_a_server_without_websockets_is_answered_with_426(
    backend: ReplayBackend,
):
    async with serve(HttpBackend("replay", backend.url), has_websocket=False) as server:
        status, reason = await refused(server, WHOLE + CLOSE)
    assert status == 426
    assert "use HTTP" in reason


async def test_an_upgrade_on_which_the_server_fails_is_answered_with_500_and_the_log_has_the_cause(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def fail(*arguments: object) -> None:
        raise AttributeError("module 'websockets' has no attribute 'x'")

    caplog.set_level(logging.ERROR)
    monkeypatch.setattr(BoundedWebSocket, "connection_made", fail)
    status, reason = await refused(server)
    assert status == 500
    assert "fault in the server" in reason
    assert "has no attribute 'x'" in caplog.text
    assert (await server.get("/models"))[0] == 200


async def test_a_handshake_that_only_the_library_rejects_is_answered_with_400(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_limits, "flaw_of", lambda url, headers: None)
    status, reason = await refused(server, WHOLE + b"x-a: " + b"a" * 9_000 + b"\r\n")
    assert status == 400
    assert "handshake" in reason


async def test_connections_with_a_refused_upgrade_are_not_counted_any_more(server: RunningServer):
    for _ in range(3):
        await refused(server, START + UPGRADE + VERSION)
    await until(lambda: not server.host.server_state.connections)
