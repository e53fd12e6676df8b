"""A key that is restricted to certain models reaches no other one: by no tool, search, image or
error.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.responses import Response

from antiphon.access import api_keys
from antiphon.config import PromptConfig, Settings
from antiphon.errors import BackendError
from antiphon.storage.operations import api_keys as stored_api_keys
from antiphon.storage.records.tenants import KeyLimits
from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.scripted import ScriptedBackend
from tests.integration.server.test_image_generation import CALL, DONE, TOOL, serving
from tests.support.keys import bearing, issue, issued
from tests.support.parts import plain, stated
from tests.support.server import RunningServer, serve
from tests.support.shelves import STORE, Shelves

EMBEDDING = Settings(search_embeddings="embedder")
MESSAGE: Any = {"role": "user", "content": "Draw"}
MORE: Any = {"type": "additional_tools", "role": "developer", "tools": [TOOL]}


@pytest.mark.parametrize(
    "body",
    [{"tools": [TOOL]}, {"tools": [TOOL], "background": True}, {"input": [MORE, MESSAGE]}],
    ids=["request", "background", "input"],
)
async def test_no_image_is_created_for_a_key_without_the_images_model(body: dict[str, Any]) -> None:
    async with serving("sqlite://", CALL, DONE) as (server, images, model):
        refused = bearing(await issue(server.parts.store, models=("m",)))
        status, answer = await server.post(
            "/responses", json={"model": "m", "input": "x", **body}, headers=refused
        )
    error: Any = answer["error"]
    assert (status, error["code"], error["param"]) == (400, "model_not_found", "tools")
    assert "painter" not in error["message"]
    assert (images.requests, model.requests) == ([], [])


@pytest.mark.parametrize("is_background", [False, True])
async def test_a_key_with_the_images_model_makes_images(is_background: bool) -> None:
    async with serving("sqlite://", CALL, DONE) as (server, images, _):
        sdk = server.sdk.with_options(
            api_key=await issue(server.parts.store, models=("m", "painter"))
        )
        response = await sdk.responses.create(
            model="m", input="x", tools=[TOOL], background=is_background
        )
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    assert (response.status, len(images.requests)) == ("completed", 1)


async def test_a_restriction_that_is_lifted_no_longer_holds_on_an_open_websocket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    create = {"type": "response.create", "model": "m", "input": "x", "tools": [TOOL]}
    async with serving("sqlite://", CALL, DONE) as (server, images, _):
        key, stored_key = await issued(server.parts.store, models=("m",))
        async with server.http.ws_connect(
            f"{server.url}/responses", headers=bearing(key)
        ) as socket:
            await socket.send_json(create)
            refused = await socket.receive_json()
            await server.parts.store.write(
                stored_api_keys.put, replace(stored_key, limits=KeyLimits())
            )
            await socket.send_json(create)
            while (event := await socket.receive_json())["type"] not in (
                "error",
                "response.completed",
            ):
                pass
    assert (refused["error"]["code"], event["type"]) == ("model_not_found", "response.completed")
    assert len(images.requests) == 1


async def test_an_unknown_model_is_answered_with_those_that_the_key_allows() -> None:
    async with serve(ScriptedBackend([], models=["open", "secret"])) as server:
        keys = [
            bearing(await issue(server.parts.store, models=one)) for one in ((), ("open", "gone"))
        ]
        texts = [
            json.dumps(
                await server.post("/responses", json={"model": model, "input": "x"}, headers=key)
            )
            for key, model in ((keys[0], "demo"), (keys[1], "demo"), (keys[1], "gone"))
        ]
    assert ["'open'" in text for text in texts] == [True] * 3
    assert ["'secret'" in text for text in texts] == [True, False, False]


async def test_files_are_embedded_only_for_keys_with_the_embedding_model() -> None:
    async with serve(ScriptedBackend([], models=["m", "embedder"]), settings=EMBEDDING) as server:
        restricted = bearing(await issue(server.parts.store, models=("m",)))
        body = {"name": "notes"}
        status, created = await server.post("/vector_stores", json=body, headers=restricted)
        store: Any = created
        attached = await server.post(
            f"/vector_stores/{store['id']}/files", json={"file_id": "file-1"}, headers=restricted
        )
        batch = {"file_ids": ["file-1"]}
        together = await server.post(
            f"/vector_stores/{store['id']}/file_batches", json=batch, headers=restricted
        )
        again = await server.post(f"/vector_stores/{store['id']}/reindex", headers=restricted)
        begun = await server.post("/vector_stores", json={**body, **batch}, headers=restricted)
    assert status == 200
    codes = [(one[0], one[1]["error"]["code"]) for one in (attached, together, again, begun)]  # type: ignore[index] # JSON
    assert codes == [(400, "model_not_found")] * 4


async def test_a_key_with_the_embedding_model_attaches_files() -> None:
    async with serve(ScriptedBackend([], models=["m", "embedder"]), settings=EMBEDDING) as server:
        sdk = server.sdk.with_options(
            api_key=await issue(server.parts.store, models=("m", "embedder"))
        )
        file = await sdk.files.create(file=("a.txt", b"Alpha."), purpose="user_data")
        created = await sdk.vector_stores.create(name="notes")
        attached = await sdk.vector_stores.files.create(created.id, file_id=file.id)
    assert attached.id == file.id


@pytest.mark.parametrize(
    ("weights", "status"), [(None, 400), ((1, 0), 400), ((0.5, 0.5), 400), ((0, 1), 200)]
)
async def test_a_search_by_meaning_is_refused_to_keys_without_the_embedding_model(
    weights: Any, status: int
) -> None:
    ranking = weights and {
        "hybrid_search": {"embedding_weight": weights[0], "text_weight": weights[1]}
    }
    async with serve(
        backend := ScriptedBackend([], models=["m", "embedder"]), settings=EMBEDDING
    ) as server:
        restricted = bearing(await issue(server.parts.store, models=("m",)))
        _, store = await server.post("/vector_stores", json={"name": "notes"}, headers=restricted)
        path = f"/vector_stores/{store['id']}/search"
        body = {"query": "tides"} | ({"ranking_options": ranking} if ranking else {})
        found, answer = await server.post(path, json=body, headers=restricted)
    assert (found, backend.requests) == (status, [])
    if status == 400:
        error: Any = answer["error"]
        assert (error["code"], error["param"]) == ("model_not_found", "ranking_options")
        assert "embedder" not in error["message"]


PIXEL = "data:image/png;base64,iVBORw0KGgo="
SEEN: Any = [{"role": "user", "content": [{"type": "input_image", "image_url": PIXEL}]}]
SEARCH: Any = {"type": "file_search", "vector_store_ids": [STORE]}
ADD: Any = {"type": "additional_tools", "role": "developer", "tools": [SEARCH]}
WINDOW: Any = {"background_options": {"completion_window": "2h"}}


@dataclass(frozen=True)
class Reach:
    """A request of a key for `m`, which would reach another model, and its reply's error."""

    body: dict[str, Any]
    path: str = "/responses"
    code: str = "model_not_found"
    param: str | None = "model"


REFUSED = {
    "a model by its name": Reach({"model": "eye"}),
    "a model by an alias": Reach({"model": "sight"}),
    "a model of a prompt": Reach({"model": None, "prompt": {"id": "eye-prompt"}}),
    "a background response": Reach({"model": "eye", "background": True}),
    "a deferred response": Reach({"model": "eye", "background": True, **WINDOW}),
    "a count of tokens": Reach({"model": "eye"}, "/responses/input_tokens"),
    "a compaction": Reach({"model": "eye"}, "/responses/compact"),
    "a chat completion": Reach({"model": "eye", "messages": SEEN}, "/chat/completions"),
    "an embedding": Reach({"model": "embedder"}, "/embeddings"),
    "an image": Reach({"model": "painter", "prompt": "x"}, "/images/generations"),
    "an image of the default model": Reach({"model": None, "prompt": "x"}, "/images/generations"),
    "the tool for images": Reach({"tools": [TOOL]}, param="tools"),
    "the tool for images, later": Reach(
        {"tools": [TOOL], "background": True, **WINDOW}, param="tools"
    ),
    "a search in files": Reach({"tools": [SEARCH]}, param="tools"),
    "a search in files, later": Reach({"tools": [SEARCH], "background": True}, param="tools"),
    "a search of the input": Reach({"input": [ADD, *SEEN]}, param="tools"),
    "an image to describe": Reach({"input": SEEN}, param="input"),
    "an image to describe in a compaction": Reach(
        {"input": SEEN + SEEN}, "/responses/compact", param="input"
    ),
    "a list of models": Reach({"models": ["eye"]}, code="unsupported_parameter", param="models"),
    "a list of models, later": Reach(
        {"models": ["eye"], "background": True}, code="unsupported_parameter", param="models"
    ),
    "a list of models of a chat": Reach(
        {"models": ["eye"], "messages": SEEN},
        "/chat/completions",
        "unsupported_parameter",
        "models",
    ),
}


@asynccontextmanager
async def deployment(
    *models: str,
) -> AsyncIterator[tuple[RunningServer, str, list[ScriptedBackend]]]:
    """A server with a blind model `m`, helpers, and every way to them; and a key for these
    models.
    """
    blind = ScriptedBackend([stated("Hi.")] * 9, name="blind", models=["m"])
    helpers = [
        ScriptedBackend(
            lambda request: {"data": [{"embedding": [1.0, 0.0]}]},
            name="embedder",
            models=["embedder"],
        ),
        *(
            ScriptedBackend([plain("A cat.")] * 9, name=name, models=[name])
            for name in ("eye", "painter")
        ),
    ]
    shares = {
        "blind": BackendOptions(
            configured=(ModelOptions("m", ModelProfile(vision=False)),),
            passthrough=frozenset({"models"}),
        ),
        "eye": BackendOptions(aliases={"sight": "eye"}),
    }
    settings = Settings(
        images_backend="http://127.0.0.1:1/v1",
        images_model="painter",
        search_embeddings="embedder",
        cache_embeddings="embedder",
        vision="eye",
        prompts={"eye-prompt": PromptConfig(model="eye", instructions="Look.")},
    )
    async with serve(blind, *helpers, shares=shares, settings=settings, has_tools=True) as server:
        images = server.parts.run.toolset.images
        server.parts.run.toolset = Toolset(images=images, file_search=FileSearch(Shelves()))
        yield server, await issue(server.parts.store, models=models), helpers


async def ended(server: RunningServer, key: str, **body: Any) -> Response:
    sdk = server.sdk.with_options(api_key=key)
    response = await sdk.responses.create(**{"model": "m", **body})
    async with asyncio.timeout(30):
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    return response


async def test_a_restricted_key_reaches_no_further_model() -> None:
    replies: dict[str, Any] = {}
    async with deployment("m") as (server, key, helpers):
        for name, reach in REFUSED.items():
            body = {
                field: value
                for field, value in {"model": "m", "input": "x", **reach.body}.items()
                if value
            }
            status, answer = await server.post(reach.path, json=body, headers=bearing(key))
            replies[name] = status, answer.get("error", {})
    found = {
        name: (status, error.get("code"), error.get("param"))
        for name, (status, error) in replies.items()
    }
    assert found == {name: (400, reach.code, reach.param) for name, reach in REFUSED.items()}
    named = [name for name, (_, error) in replies.items() if "embedder" in error["message"]]
    assert set(named) <= {"an embedding"}  # as the request names it
    assert [helper.requests for helper in helpers] == [[], [], []]


@pytest.mark.parametrize("window", [{}, WINDOW], ids=["soon", "deferred"])
async def test_no_image_is_described_in_the_background_for_a_restricted_key(
    window: dict[str, Any],
) -> None:
    async with deployment("m") as (server, key, helpers):
        response = await ended(server, key, input=SEEN, background=True, extra_body=window)
    assert (response.status, response.error and response.error.message.split(" is not")[0]) == (
        "failed",
        "The description of images",
    )
    assert [helper.requests for helper in helpers] == [[], [], []]


async def test_an_image_is_described_for_a_key_with_the_models_of_both() -> None:
    async with deployment("m", "eye") as (server, key, (_, eye, _)):
        responses = [
            await ended(server, key, input=SEEN, background=one, store=True)
            for one in (False, True)
        ]
    assert [response.status for response in responses] == ["completed"] * 2
    assert len(eye.requests) == 1  # the second description is known


@pytest.mark.parametrize("is_background", [False, True])
@pytest.mark.parametrize(("models", "embedded"), [(["m"], 0), (["m", "embedder"], 1), ([], 1)])
async def test_the_cache_embeds_a_question_only_for_keys_with_its_model(
    models: list[str], embedded: int, is_background: bool
) -> None:
    cached = {"antiphon": {"cache": True}}
    async with deployment(*models) as (server, key, (embedder, *_)):
        response = await ended(
            server, key, input="How old is it?", background=is_background, extra_body=cached
        )
    assert (response.status, len(embedder.requests)) == ("completed", embedded)


async def test_no_image_is_drawn_by_a_backends_own_tool_for_a_key_without_its_model() -> None:
    backend = ScriptedBackend([], models=["m"])
    shares = {backend.name: BackendOptions(api="responses")}
    body = {"model": "m", "input": "x"}
    async with serve(backend, shares=shares) as server:
        key = bearing(await issue(server.parts.store, models=("m",)))
        replies = [
            await server.post(
                "/responses", json={**body, "tools": [tool], "background": one}, headers=key
            )
            for tool in (TOOL, {**TOOL, "model": "painter"})
            for one in (False, True)
        ]
    errors: Any = [(status, answer["error"]) for status, answer in replies]
    assert [(status, error["code"], error["param"]) for status, error in errors] == [
        (400, "model_not_found", "tools")
    ] * 4
    assert backend.requests == []


async def test_a_fallback_is_the_operators_choice_for_restricted_keys_too() -> None:
    failing = ScriptedBackend([BackendError("down")] * 9, name="a", models=["m"])
    other = ScriptedBackend([stated("Hi.")], name="b", models=["other"])
    async with serve(failing, other, fallback={"m": ["other"]}) as server:
        response = await ended(server, await issue(server.parts.store, models=("m",)), input="x")
    assert (response.status, len(other.requests)) == ("completed", 1)
