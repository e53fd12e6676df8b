"""Caddy and Traefik as the guide configures them. Traefik is in no package of Debian: only its file
is read.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml
from websockets.asyncio.client import connect

from tests.support.programs import find, needs
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer
from tests.support.socket import Talk
from tests.system.deploy.proxies import (
    DEPLOY,
    NAME,
    Proxy,
    check_events_pass_at_once,
    check_large_files_pass,
    proxy,
    running,
)

PROGRAM = find("caddy") or ""

needs_caddy = needs(PROGRAM, "caddy")


@pytest.fixture
async def front(server: RunningServer, tmp_path: Path) -> AsyncIterator[Proxy]:
    """Caddy before one server, with the certificate of the test."""
    created = proxy(tmp_path)
    written = (DEPLOY / "Caddyfile").read_text()
    assert "ai.example.com {" in written
    assert "127.0.0.1:8321" in written
    pem = tmp_path / "shown.pem"
    written = written.replace("127.0.0.1:8321", urlsplit(server.url).netloc)
    written = written.replace(
        "ai.example.com {", f"https://{NAME}:{created.port} {{\n\ttls {pem} {pem}"
    )
    file = tmp_path / "Caddyfile"
    file.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + written)
    command = (PROGRAM, "run", "--config", str(file), "--adapter", "caddyfile")
    async with running(created.port, *command, HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path)):
        yield created


@pytest.fixture
async def client(front: Proxy) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=front.trust)) as http:
        yield http


@needs_caddy
async def test_each_event_of_a_stream_is_passed_on_as_it_arrives(
    backend: ReplayBackend, front: Proxy, client: aiohttp.ClientSession
) -> None:
    await check_events_pass_at_once(backend, front, client)


@needs_caddy
async def test_files_pass_that_are_larger_than_other_bodies(
    front: Proxy, client: aiohttp.ClientSession
) -> None:
    await check_large_files_pass(front, client)


@needs_caddy
async def test_a_websocket_passes(front: Proxy) -> None:
    async with connect(f"wss://{NAME}:{front.port}/v1/responses", ssl=front.trust) as socket:
        assert (await Talk(socket).created("Hi"))["status"] == "completed"


@needs_caddy
@pytest.mark.parametrize("path", ["/metrics", "/status", "/healthz", "/"])
async def test_only_the_api_is_displayed(
    front: Proxy, client: aiohttp.ClientSession, path: str
) -> None:
    async with client.get(front.url.removesuffix("/v1") + path) as response:
        assert (response.status, response.headers["server"]) == (404, "Caddy")


def test_traefik_forwards_the_api_alone_and_buffers_nothing() -> None:
    http = yaml.safe_load((DEPLOY / "traefik.yaml").read_text())["http"]
    router = http["routers"]["antiphon"]
    balancer = http["services"][router["service"]]["loadBalancer"]

    assert re.fullmatch(r"Host\(`ai.example.com`\) && PathPrefix\(`/v1/`\)", router["rule"])
    assert balancer["responseForwarding"] == {"flushInterval": "-1ms"}
    assert balancer["healthCheck"]["path"] == "/readyz"
    assert [one["url"] for one in balancer["servers"]] == ["http://127.0.0.1:8321"]
