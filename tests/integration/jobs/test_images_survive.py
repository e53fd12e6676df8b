"""A background response whose worker dies while an image is made, or after: no image is made
twice.
"""

import asyncio
import base64
from typing import Any

from aiohttp import web

from antiphon.config import Settings
from antiphon.gateway import Gateway
from antiphon.protocol.stored_images import StoredImage
from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.storage.operations import files
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream
from antiphon.tools.images.content import inspect
from antiphon.tools.registry import Toolset
from tests.integration.jobs.test_calls_survive import Dies, Hangs, ended, queue, reported
from tests.support.images_server import ImagesBackend, images_server
from tests.support.parts import NOW, called, stated
from tests.support.tools import Servers

TOOL: dict[str, Any] = {"type": "image_generation"}
CALL = called("image_generation", '{"prompt": "a red circle"}')


def worker(store: SqliteStore, images: ImagesBackend, *answers: Any) -> Dies:
    """A worker that makes images."""
    settings = Settings(images_backend=images.url, images_model="painter")
    created = Dies(store, Servers(), *answers, settings=settings)
    created.parts.run.toolset = Toolset(images=created.parts.run.toolset.images)
    return created


async def taken_over(second: Dies, response_id: str) -> dict[str, Any]:
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()
    return response


async def test_an_image_in_progress_is_lost_and_not_created_again() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    reached = asyncio.Event()

    async def hang(request: web.Request, fields: dict[str, Any]) -> None:
        reached.set()
        await asyncio.Event().wait()

    async with images_server() as images:
        images.handler = hang
        first = worker(store, images, CALL)
        first.worker.start()
        response_id = await queue(first.parts, tools=[TOOL])
        await asyncio.wait_for(reached.wait(), 30)
        await first.die()
        await first.parts.images.close()

        second = worker(store, images, stated("It is lost."))
        response = await taken_over(second, response_id)

    image, message = response["output"]
    assert (image["status"], image["result"]) == ("failed", None)
    assert image["error"] == {"type": "server_error", "message": INTERRUPTED}
    assert message["content"][0]["text"] == "It is lost."
    assert len(images.requests) == 1
    assert_event_stream(await reported(second.parts, response_id))


async def test_an_image_from_before_a_crash_is_stored() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    async with images_server() as images:
        first = worker(store, images, CALL, stated("never"))
        hangs = Hangs(first.backend, 1)
        first.worker.start()
        response_id = await queue(first.parts, tools=[TOOL])
        await asyncio.wait_for(hangs.requested.wait(), 30)
        await first.die()
        await first.parts.images.close()

        second = worker(store, images, stated("Here it is."))
        response = await taken_over(second, response_id)
        displayed = await Gateway(second.parts).responses.retrieve("", response_id)

    stored = StoredImage.read(response["output"][0]["result"])
    picture = inspect(base64.b64decode(displayed["output"][0]["result"]))
    assert stored is not None
    assert (picture.format, len(picture.data)) == ("png", stored.size)
    assert len(images.requests) == 1
    assert response["tool_usage"]["image_gen"]["output_tokens"] == 64
    assert_event_stream(await reported(second.parts, response_id))
    assert await store.write(files.claim_stale, 10) == []
