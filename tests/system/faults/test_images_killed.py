"""kill -9 while an image is made: it is not made again, and nothing else is lost. Two servers show
one image.
"""

import asyncio
import base64
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aiohttp import web
from openai import AsyncOpenAI

from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.tools.images.content import inspect
from tests.support.command import serving
from tests.support.images_server import ImagesBackend, images_server
from tests.support.postgres import Postgres
from tests.support.replay import Answer, ReplayBackend, delta, sse

TOOL: Any = {"type": "image_generation"}
PATIENCE = 60


def next_answer(request: dict[str, Any]) -> Answer:
    """Have an image made, then say what came of it."""
    content = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    if content:
        return Answer([sse(delta(content=content[-1]), delta("stop"))])
    function = {"name": "image_generation", "arguments": json.dumps({"prompt": "a red circle"})}
    call = {"index": 0, "id": "c", "type": "function", "function": function}
    return Answer([sse(delta(tool_calls=[call]), delta("tool_calls"))])


def flags(folder: Path, images: ImagesBackend, model: ReplayBackend, store: str) -> tuple[str, ...]:
    """The command's flags; the rest is in the settings of the folder."""
    (folder / "antiphon.toml").write_text(
        f'images_backend = "{images.url}"\nimages_model = "painter"\n'
    )
    return "--port", "0", "--backend", model.url, "--store", store


async def ended(sdk: AsyncOpenAI, response_id: str) -> dict[str, Any]:
    """Wait for a response's end."""
    async with asyncio.timeout(PATIENCE):
        while (response := await sdk.responses.retrieve(response_id)).status in (
            "queued",
            "in_progress",
        ):
            await asyncio.sleep(0.05)
    return response.to_dict()


async def test_an_image_fails_if_its_server_is_killed_and_is_not_created_again(
    tmp_path: Path,
) -> None:
    reached = asyncio.Event()
    is_over = asyncio.Event()

    async def hang(request: web.Request, fields: dict[str, Any]) -> None:
        reached.set()
        await is_over.wait()

    async with images_server() as images, ReplayBackend(next_answer).serve() as model:
        command = flags(tmp_path, images, model, f"sqlite://{tmp_path}/a.db")
        async with (
            serving(tmp_path, *command) as server,
            AsyncOpenAI(base_url=server.url, api_key="k") as sdk,
        ):
            stored = await sdk.responses.create(model="m", input="Draw", tools=[TOOL])
            images.handler = hang
            begun = await sdk.responses.create(
                model="m", input="Again", tools=[TOOL], background=True
            )
            await asyncio.wait_for(reached.wait(), PATIENCE)
            await server.stop(signal.SIGKILL)
        async with (
            serving(tmp_path, *command) as server,
            AsyncOpenAI(base_url=server.url, api_key="k") as sdk,
        ):
            interrupted = await ended(sdk, begun.id)
            displayed = await ended(sdk, stored.id)
        is_over.set()  # or the end of the images server waits for its answer

    image, message = interrupted["output"]
    assert (interrupted["status"], image["status"], image["error"]["message"]) == (
        "completed",
        "failed",
        INTERRUPTED,
    )
    assert INTERRUPTED in message["content"][0]["text"]
    assert len(images.requests) == 2
    assert displayed["output"] == stored.to_dict()["output"]
    assert inspect(base64.b64decode(displayed["output"][0]["result"])).format == "png"


async def test_two_servers_on_one_store_show_the_same_image(
    tmp_path: Path, postgres: Postgres
) -> None:
    async with AsyncExitStack() as stack:
        images = await stack.enter_async_context(images_server())
        model = await stack.enter_async_context(ReplayBackend(next_answer).serve())
        command = flags(tmp_path, images, model, await postgres.database())
        servers = [await stack.enter_async_context(serving(tmp_path, *command)) for _ in range(2)]
        first, second = (AsyncOpenAI(base_url=server.url, api_key="k") for server in servers)
        created = (await first.responses.create(model="m", input="Draw", tools=[TOOL])).to_dict()
        displayed = await ended(second, str(created["id"]))
        for sdk in (first, second):
            await sdk.close()

    assert displayed["output"] == created["output"]
    assert inspect(base64.b64decode(displayed["output"][0]["result"])).format == "png"
