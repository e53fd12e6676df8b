"""An image server that answers with anything but an image: the call fails in bounded memory, and
says why.
"""

import asyncio
import base64
import struct
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from antiphon.tools.images.content import MOST_BYTES
from antiphon.upstream.demo.painting import paint
from tests.integration.server.test_image_generation import CALL, DONE, create, image_of, serving
from tests.support.images_server import images_server
from tests.support.waiting import let_others_run

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

BOMB = (
    b"\x89PNG\r\n\x1a\n"
    + struct.pack(">I", 13)
    + b"IHDR"
    + struct.pack(">II", 60_000, 60_000)
    + b"\x08\x02\0\0\0"
)


def stated(**value: Any) -> Answer:
    """Answer with one entry of `data`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"data": [value]})

    return answer


async def endless(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await stream.prepare(request)
    await stream.write(b"data: ")
    with pytest.raises(ConnectionError):
        while True:
            await stream.write(b"x" * 1_000_000)
            await let_others_run()
    return stream


async def many_events(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await stream.prepare(request)
    for _ in range(100):
        await stream.write(b'data: {"type": "ping"}\n\n')
    return stream


async def cut(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await stream.prepare(request)
    await stream.write(b'data: {"type": "ping"}\n\n')
    return stream


async def not_json(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", content_type="text/html")


async def nothing(request: web.Request) -> web.StreamResponse:
    return web.json_response({"data": []})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (stated(b64_json=base64.b64encode(b"<html>no image</html>").decode()), "is not an image"),
        (stated(b64_json=base64.b64encode(BOMB).decode()), "60000 by 60000 pixels"),
        (stated(b64_json="not base64!"), "invalid base64"),
        (stated(b64_json=7), "did not return an image"),
        (stated(url="http://127.0.0.1:1/a.png"), "could not be fetched"),
        (stated(url="file:///etc/passwd"), "could not be fetched"),
        (stated(url="http://[::1"), "could not be fetched"),
        (not_json, "did not return a JSON object"),
        (nothing, "did not return an image"),
        (many_events, "more than 64 events"),
        (cut, "without an image"),
    ],
)
async def test_an_invalid_image_fails_the_call_with_the_reason(answer: Answer, words: str) -> None:
    async with serving("sqlite://", CALL, DONE) as (server, images, model):
        images.handler = lambda request, fields: answer(request)
        created = await create(server.sdk)

    item = image_of(created)
    assert (item["status"], item["result"]) == ("failed", None)
    assert words in item["error"]["message"]
    assert words in str(model.requests[-1])
    assert created["status"] == "completed"


async def test_a_stream_without_an_end_is_cut_off_in_bounded_memory() -> None:
    async with serving("sqlite://", CALL, DONE) as (server, images, _):
        images.handler = lambda request, fields: endless(request)
        tracemalloc.start()
        try:
            created = await create(server.sdk)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "more than" in image_of(created)["error"]["message"]
    assert most < 4 * MOST_BYTES


async def test_a_url_of_the_server_itself_is_fetched_and_no_redirect_from_it() -> None:
    picture = paint("red")

    async def file(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/moved.png"):
            raise web.HTTPFound("http://127.0.0.1:1/secret")
        return web.Response(body=picture, content_type="image/png")

    for path, status in (("/files/a.png", "completed"), ("/files/moved.png", "failed")):
        async with (
            images_server(files=file) as own,
            serving("sqlite://", CALL, DONE, images=own) as (server, images, _),
        ):
            url = images.url.removesuffix("/v1") + path
            images.handler = lambda request, fields, url=url: stated(url=url)(request)
            item = image_of(await create(server.sdk))
        assert item["status"] == status
        assert item["result"] == (
            base64.b64encode(picture).decode() if status == "completed" else None
        )


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_an_error_of_the_server_is_the_items(status: int) -> None:
    async def refuse(request: web.Request, fields: dict[str, Any]) -> web.StreamResponse:
        error = {"message": "Your prompt was rejected.", "code": "moderation_blocked", "type": "x"}
        return web.json_response({"error": error}, status=status)

    async with serving("sqlite://", CALL, DONE) as (server, images, _):
        images.handler = refuse
        item = image_of(await create(server.sdk))
    assert item["status"] == "failed"
    assert item["error"]["type"] == (
        "image_generation_user_error" if 400 <= status < 500 else "server_error"
    )


@pytest.mark.parametrize(
    ("status", "code", "cause"),
    [
        (401, "invalid_api_key", "status 401. Check the key in `images_key_env`."),
        (404, "model_not_found", "status 404. Check `images_backend` and `images_model`."),
        (500, "server_error", "status 500."),
        (400, "moderation_blocked", ""),
    ],
)
async def test_the_log_describes_what_the_operator_can_correct_without_the_words_of_the_server(
    caplog: pytest.LogCaptureFixture, status: int, code: str, cause: str
) -> None:
    async def refuse(request: web.Request, fields: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(
            {"error": {"message": "No secret wishes.", "code": code}}, status=status
        )

    async with serving("sqlite://", CALL, DONE) as (server, images, _):
        images.handler = refuse
        await create(server.sdk)

    logged = [
        one.getMessage() for one in caplog.records if "Cannot generate an image" in one.getMessage()
    ]
    assert len(logged) == (1 if cause else 0)
    assert cause in "".join(logged)
    assert "secret wishes" not in caplog.text


async def test_an_image_that_no_server_makes_is_logged_with_its_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with images_server() as removed:
        pass
    async with serving("sqlite://", CALL, DONE, images=removed) as (server, _, _):
        await create(server.sdk)

    assert (
        f"Cannot generate an image: Backend 'images' ({removed.url}) is "
        "unreachable: connection refused."
    ) in caplog.text


async def test_a_parameter_that_the_server_refuses_is_left_out_then_and_later() -> None:
    async def refuse(request: web.Request, fields: dict[str, Any]) -> web.StreamResponse | None:
        for name in ("quality", "stream"):
            if name in fields:
                return web.json_response(
                    {"error": {"message": f"Unknown parameter: '{name}'."}}, status=400
                )
        return None

    async with serving("sqlite://", CALL, DONE, CALL, DONE) as (server, images, _):
        images.handler = refuse
        tool = {"type": "image_generation", "quality": "high", "partial_images": 1, "size": "64x64"}
        first, second = [image_of(await create(server.sdk, tools=[tool])) for _ in range(2)]

    assert (first["status"], second["status"], first["size"]) == ("completed", "completed", "64x64")
    assert [sorted(fields) for _, fields in images.requests[2:]] == [
        ["model", "prompt", "response_format", "size"]
    ] * 2
    assert len(images.requests) == 4


async def test_an_image_that_takes_too_long_fails() -> None:
    async def hang(request: web.Request, fields: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async with serving("sqlite://", CALL, DONE, seconds=0.05) as (server, images, _):
        images.handler = hang
        item = image_of(await create(server.sdk))
    assert "did not answer" in item["error"]["message"]
