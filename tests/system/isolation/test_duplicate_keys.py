"""A key that is restricted to one model cannot reach another one by naming the model twice, on
either store.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from antiphon.storage.open import open_store
from tests.support.command import PATIENCE, serving
from tests.support.keys import bearing, issue
from tests.support.replay import Answer, ReplayBackend, completion

REST = '"messages":[{"role":"user","content":"Hi"}]}'
TWICE = '{"model":"secret","model":"m",' + REST
REFUSED = {
    "the last is another": ('{"model":"m","model":"secret",' + REST, "model_not_found"),
    "its name is escaped": ('{"model":"m","m\\u006fdel":"secret",' + REST, "model_not_found"),
    "another way to name it": (
        '{"model":"m","api_base":"http://127.0.0.1:9/v1",' + REST,
        "unsupported_parameter",
    ),
}


async def sent(
    folder: Path, store_url: str, backend: ReplayBackend, body: str
) -> tuple[int, dict[str, Any], list[str]]:
    """Send a Chat Completion with a key for `m` alone; the reply, and every `model` that the
    backend received.
    """
    backend.script = lambda request: Answer([completion("Hi")], "application/json")
    backend.models.append({**backend.models[0], "id": "secret"})
    store = await open_store(store_url)
    key = await issue(store, "a", models=("m",))
    await store.close()
    flags = ("--port", "0", "--backend", backend.url, "--store", store_url)
    async with (
        serving(folder, *flags) as server,
        aiohttp.ClientSession(headers=bearing(key)) as http,
    ):
        path = f"{server.url}/chat/completions"
        json_type = {"content-type": "application/json"}
        async with (
            asyncio.timeout(PATIENCE),
            http.post(path, data=body, headers=json_type) as reply,
        ):
            answer = await reply.json(content_type=None)
    seen: list[str] = []
    for one in backend.bodies:
        json.loads(
            one,
            object_pairs_hook=lambda pairs: seen.extend(str(v) for k, v in pairs if k == "model"),
        )
    return reply.status, answer, seen


async def test_the_backend_receives_the_one_model_that_was_checked(
    tmp_path: Path, store_url: str, backend: ReplayBackend
) -> None:
    status, _, models = await sent(tmp_path, store_url, backend, TWICE)
    assert (status, models) == (200, ["m"])


@pytest.mark.parametrize("how", REFUSED)
async def test_another_model_is_refused_however_it_is_named(
    tmp_path: Path, store_url: str, backend: ReplayBackend, how: str
) -> None:
    body, code = REFUSED[how]
    status, answer, models = await sent(tmp_path, store_url, backend, body)
    assert (status, answer["error"]["code"], models) == (400, code, [])
