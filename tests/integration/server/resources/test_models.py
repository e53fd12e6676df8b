"""Models can be listed, as every client and as Codex reads them, and retrieved; none can be
deleted, as at OpenAI.
"""

from typing import Any, cast

import openai
import pytest

from antiphon.translation.dialects.profile import ModelProfile
from tests.support.keys import bearing, issue
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer


def of(name: str, **stated: Any) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "test", **stated}


async def test_the_list_is_openais(server: RunningServer, backend: ReplayBackend) -> None:
    backend.models = [of("m", max_model_len=4096)]
    assert await server.get("/models") == (200, {"object": "list", "data": [of("m")]})


async def test_codex_also_gets_its_catalog_with_the_window_that_the_backend_states(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models = [of("m", max_model_len=4096), of("n")]
    status, answer = await server.get("/models?client_version=0.169.0")

    assert (status, answer["object"], answer["data"]) == (200, "list", [of("m"), of("n")])
    entries: Any = answer["models"]
    assert [(entry["slug"], entry.get("context_window")) for entry in entries] == [
        ("m", 4096),
        ("n", None),
    ]


async def test_a_model_that_sees_no_images_has_them_if_another_describes_them(
    server: RunningServer,
) -> None:
    async def kinds() -> list[str]:
        _, answer = await server.get("/models?client_version=0.169.0")
        listed: Any = answer["models"]
        return [*listed[0]["input_modalities"]]

    await server.get("/models")
    server.parts.models.backends[0].update(measured={"m": ModelProfile(vision=False)})
    assert await kinds() == ["text"]

    server.parts.run.vision = cast("Any", object())
    assert await kinds() == ["text", "image"]


async def test_the_official_sdk_reads_the_list_with_the_catalog(server: RunningServer) -> None:
    models = await server.sdk.models.list(extra_query={"client_version": "0.169.0"})
    assert [model.id for model in models.data] == ["m"]


async def test_a_key_sees_the_models_that_it_allows(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models = [of("m"), of("n")]
    key = await issue(server.parts.store, models=("n",))
    url = f"{server.url}/models?client_version=0.169.0"
    async with server.http.get(url, headers=bearing(key)) as response:
        answer = await response.json()

    assert (
        [model["id"] for model in answer["data"]]
        == [entry["slug"] for entry in answer["models"]]
        == ["n"]
    )


async def test_the_sdk_retrieves_a_model_and_may_not_delete_it(server: RunningServer) -> None:
    found = await server.sdk.models.retrieve("m")
    with pytest.raises(
        openai.PermissionDeniedError, match="The model 'm' cannot be deleted"
    ) as refused:
        await server.sdk.models.delete("m")

    assert found.id == "m"
    assert (refused.value.param, refused.value.code) == ("model", "insufficient_permissions")
    assert (await server.sdk.models.retrieve("m")).id == "m"


async def test_an_unknown_model_is_not_found(server: RunningServer) -> None:
    for request in (server.sdk.models.retrieve, server.sdk.models.delete):
        with pytest.raises(openai.NotFoundError, match="The model 'a/b' does not exist") as refused:
            await request("a/b")
        assert (refused.value.param, refused.value.code) == ("model", "model_not_found")
