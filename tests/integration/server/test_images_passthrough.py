"""`/v1/images/…` passed on to the image server, or to the backend that lists the model."""

import base64
from typing import Any

import pytest
from aiohttp import web
from openai import BadRequestError

from antiphon.tools.images.content import look_at
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.painting import paint
from tests.integration.server.test_image_generation import serving
from tests.support.keys import bearing, issue
from tests.support.server import Served, serve


async def test_the_sdk_makes_and_edits_images() -> None:
    async with serving("sqlite://") as (served, images, _):
        made = await served.sdk.images.generate(model="painter", prompt="a red circle", size="512x512")
        data = base64.b64decode(made.data[0].b64_json or "")  # type: ignore[index]
        edited = await served.sdk.images.edit(
            model="painter", prompt="bluer", image=("a.png", data, "image/png"), mask=("m.png", paint("x"), "image/png")
        )

    assert look_at(data).size == "512x512"
    assert look_at(base64.b64decode(edited.data[0].b64_json or "")).format == "png"  # type: ignore[index]
    assert images.requests[1] == (
        "/images/edits",
        {"image": len(data), "mask": len(paint("x")), "model": "painter", "prompt": "bluer"},
    )


async def test_streams_pass_and_without_a_model_the_one_of_the_settings_is_asked() -> None:
    async with serving("sqlite://") as (served, images, _):
        stream: Any = await served.sdk.images.generate(prompt="a square", stream=True, partial_images=2)
        kinds = [event.type async for event in stream]
        await served.sdk.images.edit(prompt="x", image=("a.png", paint("x"), "image/png"))
        asked = {"prompt": "a square", "stream": True}
        async with served.http.post(f"{served.url}/images/generations", json=asked) as reply:
            assert reply.headers["x-accel-buffering"] == "no"

    assert kinds == ["image_generation.partial_image"] * 2 + ["image_generation.completed"]
    assert [fields["model"] for _, fields in images.requests] == ["painter"] * 3


async def test_a_backend_that_lists_the_model_is_routed_to() -> None:
    async with serve(DemoBackend()) as served:
        made = await served.sdk.images.generate(model="demo", prompt="a green line")
        with pytest.raises(BadRequestError):
            await served.sdk.images.generate(model="gpt-image-1", prompt="a green line")
    assert look_at(base64.b64decode(made.data[0].b64_json or "")).format == "png"  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "param"),
    [({"prompt": ""}, "prompt"), ({"model": "painter"}, "prompt"), ({"prompt": "x", "n": 11}, "n")],
)
async def test_what_makes_no_sense_is_refused_by_name(body: dict[str, Any], param: str) -> None:
    async with serving("sqlite://") as (served, images, _):
        status, answer = await served.post("/images/generations", json=body)
    error: Any = answer["error"]
    assert (status, error["param"], images.requests) == (400, param, [])


async def test_a_field_that_comes_twice_in_a_form_is_refused() -> None:
    form = (
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\npainter\r\n'
        b'--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n'
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nother\r\n--b--\r\n'
    )
    async with serving("sqlite://") as (served, images, _):
        headers = {"content-type": "multipart/form-data; boundary=b"}
        status, answer = await served.post("/images/edits", data=form, headers=headers)
    assert (status, images.requests) == (400, [])
    assert "more than once. Send it once." in str(answer)


async def test_an_error_of_the_server_reaches_the_client() -> None:
    async with serving("sqlite://") as (served, _, __):
        with pytest.raises(BadRequestError) as refused:
            await served.sdk.images.generate(model="painter", prompt="x", output_format="webp")
    assert refused.value.param == "output_format"


async def test_keys_and_their_limits_hold() -> None:
    async with serving("sqlite://") as (served, images, _):
        allowed = bearing(await issue(served.engine.store, models=("painter",), requests_per_minute=1))
        refused = bearing(await issue(served.engine.store, models=("m",)))
        body = {"model": "painter", "prompt": "a square"}
        first = await served.post("/images/generations", json=body, headers=allowed)
        second = await served.post("/images/generations", json=body, headers=allowed)
        third = await served.post("/images/generations", json=body, headers=refused)
        fourth = await served.post("/images/generations", json=body)

    assert [status for status, _ in (first, second, third, fourth)] == [200, 429, 400, 401]
    assert len(images.requests) == 1


async def charged(served: Served) -> tuple[int, int, int]:
    """The requests and tokens that were charged to all keys."""
    await served.engine.meter.settle()
    rows = await served.engine.store.usage(None, 0, 2**40)
    return sum(row.requests for row in rows), sum(row.input_tokens for row in rows), sum(r.output_tokens for r in rows)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_is_charged_what_the_server_reports(stream: bool) -> None:
    async with serving("sqlite://") as (served, _, __):
        key = await issue(served.engine.store)
        body = {"model": "painter", "prompt": "a red square", "stream": stream}
        async with served.http.post(f"{served.url}/images/generations", json=body, headers=bearing(key)) as reply:
            await reply.read()
        assert await charged(served) == (1, 3, 64)


async def test_a_key_is_charged_for_its_prompt_where_the_server_reports_nothing() -> None:
    async def silent(request: web.Request, fields: dict[str, Any]) -> web.Response:
        return web.json_response({"data": [{"b64_json": base64.b64encode(paint("x")).decode()}]})

    async with serving("sqlite://") as (served, images, _):
        images.handler = silent
        key = await issue(served.engine.store)
        body = {"model": "painter", "prompt": "a red square" * 20}
        assert (await served.post("/images/generations", json=body, headers=bearing(key)))[0] == 200
        requests, tokens, written = await charged(served)
    assert (requests, written) == (1, 0)
    assert tokens > 20
