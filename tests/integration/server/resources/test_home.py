"""`GET /`: a page for browsers, JSON for programs, and no secret in either."""

import re
from collections.abc import AsyncIterator

import pytest

from antiphon import __version__
from antiphon.server.home_page import MOST_MODELS
from antiphon.upstream.http import HttpBackend
from tests.support.keys import issue
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

KEY = "sk-secret-backend-key"

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
async def server(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server without the console, which would take the place of the page where it is built."""
    async with serve(HttpBackend("replay", backend.url, KEY), console=False) as one:
        yield one


@pytest.fixture
async def stateful(backend: ReplayBackend, store_url: str) -> AsyncIterator[RunningServer]:
    """The same, once on each kind of store."""
    async with serve(
        HttpBackend("replay", backend.url, KEY), store=store_url, console=False
    ) as one:
        yield one


async def home(server: RunningServer, **headers: str) -> tuple[int, dict[str, str], str]:
    async with server.http.get(server.url.removesuffix("/v1") + "/", headers=headers) as response:
        return (
            response.status,
            {name.lower(): value for name, value in response.headers.items()},
            await response.text(),
        )


async def test_a_browser_sees_the_version_the_health_and_the_models(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models = [{"id": "<b>m</b>"}]
    await server.parts.models.refresh()
    status, headers, text = await home(server, **BROWSER)

    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f"Version {__version__}." in text
    assert ">healthy<" in text
    assert "<code>&lt;b&gt;m&lt;/b&gt;</code>" in text
    assert re.findall(r'href="(.*?)"', text) == [
        "openapi.json",
        "healthz",
        "readyz",
        "v1/models",
        "status",
        "metrics",
    ]


async def test_every_link_of_the_page_leads_somewhere(server: RunningServer) -> None:
    _, _, text = await home(server, **BROWSER)

    for link in re.findall(r'href="(.*?)"', text):
        async with server.http.get(f"{server.url.removesuffix('/v1')}/{link}") as response:
            assert response.status == 200, link


async def test_the_page_loads_and_runs_nothing(server: RunningServer) -> None:
    _, headers, text = await home(server, **BROWSER)

    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"<script|<img|<link|\bsrc=|style=|https?:", text)
    assert headers["cache-control"] == "no-store"


async def test_neither_the_page_nor_the_json_has_the_address_or_the_key_of_a_backend(
    server: RunningServer, backend: ReplayBackend
) -> None:
    address = backend.url.removeprefix("http://").removesuffix("/v1")
    for headers in (BROWSER, {}):
        _, _, text = await home(server, **headers)
        assert address not in text
        assert "sk-secret" not in text


async def test_a_server_with_keys_shows_the_page_without_its_models(
    stateful: RunningServer,
) -> None:
    await issue(stateful.parts.store)
    await stateful.parts.models.refresh()
    status, _, text = await home(stateful, **BROWSER)

    assert status == 200
    assert "This server requires an API key." in text
    assert "<code>m</code>" not in text


async def test_a_server_without_available_backends_is_not_ready() -> None:
    async with serve(HttpBackend("gone", "http://127.0.0.1:9/v1"), console=False) as server:
        _, _, text = await home(server, **BROWSER)

    assert ">not ready<" in text
    assert "<code>antiphon status</code> shows why." in text


async def test_of_many_models_the_page_names_the_first(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models = [{"id": f"m{number}"} for number in range(MOST_MODELS + 3)]
    await server.parts.models.refresh()
    _, _, text = await home(server, **BROWSER)

    assert "And 3 more." in text


@pytest.mark.parametrize("headers", [{}, {"accept": "*/*"}, {"accept": "application/json"}])
async def test_a_program_gets_json(server: RunningServer, headers: dict[str, str]) -> None:
    async with server.http.get(server.url.removesuffix("/v1") + "/", headers=headers) as response:
        assert (response.status, response.content_type) == (200, "application/json")
        about = await response.json()

    assert about == {
        "name": "Antiphon",
        "version": __version__,
        "openapi": "/openapi.json",
        "models": "/v1/models",
    }
