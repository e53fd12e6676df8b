"""What clients of the Messages API post beside messages: counts, models by their names, a hello."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.storage.open import open_store
from antiphon.upstream.http import HttpBackend
from tests.support.keys import bearing, issue
from tests.support.messages_requests import assistant, result, tool, use, user
from tests.support.messages_server import HI, post
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

VERSION = {"anthropic-version": "2023-06-01"}
NAMES = {"claude-haiku-*": "small", "claude-m": "m", "claude-*": "m"}


@pytest.fixture
async def named(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server of two models that Claude's names mean."""
    backend.models = [
        {"id": name, "object": "model", "created": 1, "owned_by": "test", "max_model_len": 4096}
        for name in ("m", "small", "claude-own")
    ]
    settings = Settings(messages_models=NAMES)
    async with serve(HttpBackend("replay", backend.url), settings=settings) as one:
        await one.get("/models")
        yield one


async def models(
    server: RunningServer, path: str = "/models", headers: Mapping[str, str] = VERSION
) -> tuple[int, Any]:
    async with server.http.get(server.url + path, headers=headers) as response:
        assert response.headers.get("request-id") == (
            response.headers["x-request-id"] if headers else None
        )
        return response.status, await response.json()


async def test_tokens_are_counted_without_a_call_of_the_model(
    server: RunningServer, backend: ReplayBackend
) -> None:
    few = await post(server, "/messages/count_tokens", max_tokens=None)
    many = await post(server, "/messages/count_tokens", max_tokens=None, tools=[tool()])

    assert (few.status, many.status) == (200, 200)
    assert 0 < few.body["input_tokens"] < many.body["input_tokens"]
    assert few.headers["antiphon-token-count"] == "estimate"
    assert backend.requests == []


@pytest.mark.parametrize(
    "messages", [[user(result())], [user("a"), assistant(use())], [assistant("a")]]
)
async def test_any_part_of_a_conversation_is_counted(
    server: RunningServer, messages: list[Any]
) -> None:
    answered = await post(server, "/messages/count_tokens", messages=messages, max_tokens=None)

    assert answered.status == 200, answered.body


async def test_counting_uses_up_no_request_of_the_key(backend: ReplayBackend) -> None:
    store = await open_store("sqlite://")
    key = await issue(store, requests_per_minute=1, models=("m",))
    async with serve(HttpBackend("replay", backend.url), store=store) as server:
        for _ in range(3):
            counted = await post(server, "/messages/count_tokens", {"x-api-key": key})
            assert counted.status == 200
        other = await post(server, "/messages/count_tokens", {"x-api-key": key}, model="other")
        assert (other.status, other.body["type"]) == (404, "error")


async def test_the_list_of_models_has_the_form_of_the_client(
    named: RunningServer,
) -> None:
    _, of_openai = await models(named, headers={})
    assert [one["id"] for one in of_openai["data"]] == ["m", "small", "claude-own"]

    _, page = await models(named)
    assert [one["id"] for one in page["data"]] == ["m", "small", "claude-own", "claude-m"]
    assert page["data"][-1] == {
        "type": "model",
        "id": "claude-m",
        "display_name": "m",
        "created_at": "1970-01-01T00:00:01Z",
        "lifecycle": "active",
        "max_input_tokens": 4096,
        "max_tokens": None,
    }
    assert (page["has_more"], page["first_id"], page["last_id"]) == (False, "m", "claude-m")


async def test_the_list_has_pages(named: RunningServer) -> None:
    _, page = await models(named, "/models?limit=1&after_id=m")
    assert ([one["id"] for one in page["data"]], page["has_more"]) == (["small"], True)

    for query in ("limit=0", "limit=many", "limit=1001"):
        status, body = await models(named, f"/models?{query}")
        assert (status, body["error"]["type"]) == (400, "invalid_request_error")


async def test_one_model_is_returned_by_any_of_its_names(named: RunningServer) -> None:
    for name in ("m", "claude-m"):
        status, body = await models(named, f"/models/{name}")
        assert (status, body["type"], body["id"]) == (200, "model", name)
    status, body = await models(named, "/models/none")
    assert (status, body["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-haiku-4-5", "small"),
        ("claude-sonnet-5-5", "m"),
        ("claude-own", "claude-own"),
        ("m", "m"),
    ],
)
async def test_a_name_of_claude_calls_the_model_of_the_settings(
    named: RunningServer, backend: ReplayBackend, name: str, model: str
) -> None:
    """claude-code#11387: names of models for background work are unknown at a gateway."""
    answered = await post(named, model=name)

    assert (answered.status, answered.body["model"]) == (200, name)
    assert backend.requests[-1]["model"] == model
    assert (await post(named, "/messages/count_tokens", model=name)).status == 200


async def test_a_key_sees_its_models_by_either_header(backend: ReplayBackend) -> None:
    store = await open_store("sqlite://")
    key = await issue(store)
    async with serve(HttpBackend("replay", backend.url), store=store) as server:
        for headers in ({**VERSION, "x-api-key": key}, {**VERSION, **bearing(key)}):
            assert (await models(server, headers=headers))[0] == 200
        status, body = await models(server)
        assert (status, body["error"]["type"]) == (401, "authentication_error")
        async with server.http.get(f"{server.url}/models", headers={"x-api-key": key}) as response:
            assert response.status == 401  # the header is of the other API


async def test_a_hello_needs_no_key(backend: ReplayBackend) -> None:
    store = await open_store("sqlite://")
    await issue(store)
    async with (
        serve(HttpBackend("replay", backend.url), store=store) as server,
        server.http.head(server.url.removesuffix("/v1") + "/api/hello") as response,
    ):
        assert response.status == 200


async def test_a_probe_of_one_token_is_answered(server: RunningServer) -> None:
    """Antigravity-Manager#3359."""
    answered = await post(server, max_tokens=1, messages=HI["messages"])

    assert answered.status == 200
