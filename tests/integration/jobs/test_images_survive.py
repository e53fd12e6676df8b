"""A background response whose worker dies while an image is made, or after: no image is made twice."""

import asyncio
import base64
from typing import Any

from aiohttp import web

from antiphon.build.images import images_router, open_images
from antiphon.config import Settings
from antiphon.gateway import Gateway
from antiphon.protocol.kept_images import KeptImage
from antiphon.runs.tool_calls import LOST
from antiphon.storage.operations import files
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream
from antiphon.tools.images.content import look_at
from antiphon.tools.registry import Toolset
from tests.integration.jobs.test_calls_survive import Dies, Hangs, ended, queue, told
from tests.support.engine import NOW, called, said
from tests.support.images_server import ImagesBackend, images_server
from tests.support.tools import Servers

TOOL: dict[str, Any] = {"type": "image_generation"}
CALL = called("image_generation", '{"prompt": "a red circle"}')


def worker(store: SqliteStore, images: ImagesBackend, *answers: Any) -> Dies:
    """A worker whose engine makes images."""
    from antiphon.build.files import open_files  # noqa: PLC0415 - as the engine of a server

    made = Dies(store, Servers(), *answers)
    settings = Settings(images_backend=images.url, images_model="painter")
    engine = made.engine
    engine.open_files = lambda: open_files(engine, settings)
    engine.open_images = lambda: images_router(settings)
    engine.toolset = Toolset(images=open_images(settings, engine))
    return made


async def taken_over(second: Dies, response_id: str) -> dict[str, Any]:
    second.worker.start()
    response = await ended(second.engine, response_id)
    await second.worker.close()
    return response


async def test_an_image_that_was_being_made_is_lost_and_is_not_made_again() -> None:
    store, reached = SqliteStore.open("sqlite://", now=lambda: NOW), asyncio.Event()

    async def hang(request: web.Request, fields: dict[str, Any]) -> None:
        reached.set()
        await asyncio.Event().wait()

    async with images_server() as images:
        images.handler = hang
        first = worker(store, images, CALL)
        first.worker.start()
        response_id = await queue(first.engine, tools=[TOOL])
        await asyncio.wait_for(reached.wait(), 30)
        await first.die()
        await first.engine.close_images()

        second = worker(store, images, said("It is lost."))
        response = await taken_over(second, response_id)

    image, message = response["output"]
    assert (image["status"], image["result"]) == ("failed", None)
    assert image["error"] == {"type": "server_error", "message": LOST}
    assert message["content"][0]["text"] == "It is lost."
    assert len(images.requests) == 1
    assert_event_stream(await told(second.engine, response_id))


async def test_an_image_that_was_made_before_a_crash_is_kept() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    async with images_server() as images:
        first = worker(store, images, CALL, said("never"))
        hangs = Hangs(first.backend, 1)
        first.worker.start()
        response_id = await queue(first.engine, tools=[TOOL])
        await asyncio.wait_for(hangs.asked.wait(), 30)
        await first.die()
        await first.engine.close_images()

        second = worker(store, images, said("Here it is."))
        response = await taken_over(second, response_id)
        shown = await Gateway(second.engine).responses.retrieve("", response_id)

    kept = KeptImage.read(response["output"][0]["result"])
    picture = look_at(base64.b64decode(shown["output"][0]["result"]))
    assert kept is not None
    assert (picture.format, len(picture.data)) == ("png", kept.size)
    assert len(images.requests) == 1
    assert response["tool_usage"]["image_gen"]["output_tokens"] == 64
    assert_event_stream(await told(second.engine, response_id))
    assert await store.write(files.claim_stale, 10) == []
