"""Who comes in: with a key, by the one header, and nobody else anywhere (bad inputs 1 to 8, threats
1 to 7).
"""

import re
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from antiphon.access import api_keys
from antiphon.access.api_keys import Mint
from antiphon.gateway import Gateway
from antiphon.server.application import console_resources, create_app, later_resources, resources
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys as stored_api_keys
from antiphon.storage.store import Store
from antiphon.upstream.http import HttpBackend
from tests.support.asgi import once
from tests.support.keys import bearing, issue, issued
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

REQUEST = {"model": "m", "input": "Hi", "store": False}

WATCHERS = {"/", "/healthz", "/readyz", "/metrics", "/status", "/api/hello"}
"""Paths that nobody needs a key for."""


@pytest.fixture
async def guarded(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server that asks for a key."""
    store = await open_store("sqlite://")
    await issue(store, "somebody")
    async with serve(
        HttpBackend("replay", backend.url, "sk-secret-backend-key"), store=store
    ) as one:
        yield one


async def answer(
    server: RunningServer, headers: Mapping[str, str], path: str = "/models"
) -> tuple[int, Any, Mapping[str, str]]:
    async with server.http.get(server.url + path, headers=headers) as response:
        return response.status, (await response.json())["error"], response.headers


async def test_a_good_key_comes_in(stateful: RunningServer) -> None:
    stateful.sdk.api_key = await issue(stateful.parts.store)

    assert (
        await stateful.sdk.responses.create(model="m", input="Hi")
    ).output_text == "You said: Hi"


@pytest.mark.parametrize(
    "provided",
    [
        {},
        {"authorization": "Basic YTpi"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
    ],
)
async def test_a_request_without_a_key_is_rejected_with_the_place_for_it(
    guarded: RunningServer, provided: Mapping[str, str]
) -> None:
    status, error, headers = await answer(guarded, provided)

    assert (status, error["type"], error["param"], error["code"]) == (
        401,
        "invalid_request_error",
        None,
        None,
    )
    assert "Authorization" in error["message"]
    assert headers["www-authenticate"] == "Bearer"
    assert headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    "key",
    [
        "sk-wrong",
        "' OR '1'='1",
        "sk-antiphon-\x80\xff",
        "x" * 30_000,
        "a b",
        "null",
        "sk-antiphon-; DROP TABLE api_keys",
    ],
)
async def test_a_wrong_key_is_refused_and_not_repeated(guarded: RunningServer, key: str) -> None:
    status, error, _ = await answer(guarded, {"authorization": f"Bearer {key}"})

    assert (status, error["type"], error["param"]) == (401, "invalid_request_error", None)
    assert error["code"] == "invalid_api_key"
    assert error["message"].startswith("Incorrect API key provided")
    assert key not in error["message"] or len(key) < 5


async def test_two_authorization_headers_are_refused(guarded: RunningServer) -> None:
    key = await issue(guarded.parts.store)
    async with aiohttp.ClientSession() as http:
        provided = [("authorization", f"Bearer {key}"), ("authorization", "Bearer other")]
        async with http.get(f"{guarded.url}/models", headers=provided) as response:
            assert response.status == 400


@pytest.mark.parametrize(
    "header",
    [
        "x-api-key",
        "api-key",
        "openai-api-key",
        "proxy-authorization",
        "cookie",
        "x-antiphon-tenant",
    ],
)
async def test_no_other_header_authenticates(guarded: RunningServer, header: str) -> None:
    key = await issue(guarded.parts.store)
    assert (await answer(guarded, {header: key}))[0] == 401
    assert (await answer(guarded, {header: f"Bearer {key}"}))[0] == 401
    assert (await answer(guarded, {}, f"/models?api_key={key}&key={key}"))[0] == 401


async def test_keys_that_begin_alike_are_different_keys(guarded: RunningServer) -> None:
    key = await issue(guarded.parts.store)
    for other in (key[:-1], key[:40], key + "A", key[:-1] + ("A" if key[-1] != "A" else "B")):
        assert (await answer(guarded, bearing(other)))[0] == 401


async def test_keys_cannot_be_derived_from_the_database(guarded: RunningServer) -> None:
    _, stored_key = await issued(guarded.parts.store)
    secret = (await Mint.of(guarded.parts.store)).secret
    for found in (
        stored_key.digest.hex(),
        b64encode(stored_key.digest).decode(),
        stored_key.id,
        stored_key.displayed[-4:],
        secret.hex(),
    ):
        assert (await answer(guarded, bearing(found)))[0] == 401


async def test_an_ended_key_is_like_one_that_never_was(
    guarded: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    store = guarded.parts.store
    for ended in ({"revoked_at": 1}, {"expires_at": int(time.time()) - 1}):
        key, stored_key = await issued(store)
        async with guarded.http.get(f"{guarded.url}/models", headers=bearing(key)) as response:
            assert response.status == 200
        await store.write(stored_api_keys.put, replace(stored_key, **ended))  # type: ignore[arg-type]
        reported = await answer(guarded, bearing(key))
        assert reported[:2] == (await answer(guarded, bearing("sk-none")))[:2]


def routes_of(server: RunningServer) -> list[tuple[str, set[str]]]:
    """Every path that is served, with something in place of each name, and its methods."""
    gateway = Gateway(server.parts)
    parts = [*resources(gateway, server.endpoints)]
    later = {**later_resources(gateway), **console_resources(gateway)}
    parts += [part for load in later.values() for part in load()]
    paths = [
        (re.sub(r"{(\w+)(:path)?}", r"\1", path), set(methods))
        for one in parts
        for path, methods in one.items()
    ]
    return [*paths, ("/v1/responses", {"WEBSOCKET"})]


def is_open(method: str, path: str) -> bool:
    """Whether nobody needs a key: for the watchers' paths, the console's pages, and to sign in to
    it.
    """
    return (
        path in WATCHERS
        or path.startswith("/console")
        or (method, path) == ("POST", "/admin/v1/session")
    )


async def test_every_path_requires_a_key_except_those_of_monitoring(guarded: RunningServer) -> None:
    paths = routes_of(guarded)
    assert {path for path, _ in paths} > WATCHERS
    root = guarded.url.removesuffix("/v1")
    for path, methods in paths:
        for method in {*methods, "GET", "OPTIONS"} - {"WEBSOCKET"}:
            async with guarded.http.request(method, root + path) as response:
                assert (response.status == 401) is not is_open(method, path), (method, path)
    for path in (
        "/v1",
        "/v1/none",
        "/admin",
        "/docs",
        "/healthz/",
        "//healthz",
        "/HEALTHZ",
        "/v1/models/../../healthz/x",
    ):
        async with guarded.http.get(root + path) as response:
            assert response.status == 401, path


async def test_a_websocket_needs_a_key_before_it_is_opened(guarded: RunningServer) -> None:
    key = await issue(guarded.parts.store)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await guarded.http.ws_connect(f"{guarded.url}/responses")
    async with guarded.http.ws_connect(f"{guarded.url}/responses", headers=bearing(key)) as socket:
        await socket.send_json({"type": "response.create", **REQUEST})
        assert (await socket.receive_json())["type"] == "response.created"

    assert refused.value.status == 401


async def test_an_ended_key_begins_nothing_on_its_open_websocket(
    guarded: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    key, stored_key = await issued(guarded.parts.store)
    async with guarded.http.ws_connect(f"{guarded.url}/responses", headers=bearing(key)) as socket:
        await guarded.parts.store.write(stored_api_keys.put, replace(stored_key, revoked_at=1))
        await socket.send_json({"type": "response.create", **REQUEST})
        reported = await socket.receive_json()

    assert (reported["type"], reported["status"], reported["error"]["code"]) == (
        "error",
        401,
        "invalid_api_key",
    )


async def test_no_key_is_in_the_log_or_the_metrics(
    guarded: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    good = await issue(guarded.parts.store)
    wrong = "sk-antiphon-canary"
    for key in (good, wrong):
        for path in ("/responses", "/chat/completions", "/nothing"):
            async with guarded.http.post(
                guarded.url + path, json=REQUEST, headers=bearing(key)
            ) as response:
                assert key not in await response.text()
    async with guarded.http.get(f"{guarded.url.removesuffix('/v1')}/metrics") as response:
        assert response.status == 200
        reported = await response.text() + caplog.text

    assert backend.requests
    assert all(good.encode() not in head for head in backend.heads)
    assert not any(key in reported for key in (good, wrong, good[12:]))


async def test_a_parent_application_can_require_the_key_itself(guarded: RunningServer) -> None:
    inner = create_app(guarded.application.gateway, guarded.endpoints)
    sent: list[Any] = []

    async def around(scope: Scope, receive: Receive, send: Send) -> None:
        await inner({**scope, "antiphon.tenant": "theirs"}, receive, send)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/models",
        "query_string": b"",
        "headers": [],
    }
    await around(scope, once(), send)
    assert sent[0]["status"] == 200


@pytest.mark.parametrize("tenant", [" theirs", "theirs\n", "", "a" * 201, None, b"theirs"])
async def test_a_tenant_that_an_application_around_this_one_sets_has_a_valid_name(
    guarded: RunningServer, tenant: Any
) -> None:
    inner = create_app(guarded.application.gateway, guarded.endpoints)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/models",
        "query_string": b"",
        "headers": [],
    }
    await inner({**scope, "antiphon.tenant": tenant}, once(), send)

    assert sent[0]["status"] == (200 if tenant == "" else 400)
    assert (b"invalid_tenant" in sent[1]["body"]) == (tenant != "")


async def test_a_mounted_application_lets_the_watchers_in(guarded: RunningServer) -> None:
    inner = create_app(guarded.application.gateway, guarded.endpoints)
    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    for path in ("/ai/healthz", "/ai/v1/models"):
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "root_path": "/ai",
            "query_string": b"",
            "headers": [],
        }
        await inner(scope, once(), send)
    assert [status for status in statuses if status] == [200, 401]


async def test_an_unavailable_store_authenticates_no_request(backend: ReplayBackend) -> None:
    store: Store = await open_store("sqlite://")
    key = await issue(store)
    async with serve(HttpBackend("replay", backend.url, ""), store=store) as server:
        assert (await answer(server, {}))[0] == 401
        await store.close()
        async with server.http.get(f"{server.url}/models", headers=bearing(key)) as response:
            assert response.status == 503
