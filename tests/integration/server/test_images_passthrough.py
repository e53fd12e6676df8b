"""`/v1/images/…` passed on to the image server, or to the backend that lists the model."""

import asyncio
import base64
import json
from typing import Any

import pytest
from aiohttp import ClientPayloadError, web
from openai import BadRequestError

from antiphon.forwarding import image_answers
from antiphon.server.limits import ServerLimits
from antiphon.storage.operations import api_keys
from antiphon.tools.images.content import inspect
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.painting import paint
from tests.integration.server.test_image_generation import serving
from tests.support.images_server import images_server
from tests.support.keys import bearing, issue
from tests.support.server import RunningServer, serve
from tests.support.waiting import until


async def test_the_sdk_makes_and_edits_images() -> None:
    async with serving("sqlite://") as (server, images, _):
        created = await server.sdk.images.generate(
            model="painter", prompt="a red circle", size="512x512"
        )
        data = base64.b64decode(created.data[0].b64_json or "")  # type: ignore[index]
        edited = await server.sdk.images.edit(
            model="painter",
            prompt="bluer",
            image=("a.png", data, "image/png"),
            mask=("m.png", paint("x"), "image/png"),
        )

    assert inspect(data).size == "512x512"
    assert inspect(base64.b64decode(edited.data[0].b64_json or "")).format == "png"  # type: ignore[index]
    assert images.requests[1] == (
        "/images/edits",
        {"image": len(data), "mask": len(paint("x")), "model": "painter", "prompt": "bluer"},
    )


async def test_streams_pass_and_without_a_model_the_configured_one_is_called() -> None:
    async with serving("sqlite://") as (server, images, _):
        stream: Any = await server.sdk.images.generate(
            prompt="a square", stream=True, partial_images=2
        )
        kinds = [event.type async for event in stream]
        await server.sdk.images.edit(prompt="x", image=("a.png", paint("x"), "image/png"))
        body = {"prompt": "a square", "stream": True}
        async with server.http.post(f"{server.url}/images/generations", json=body) as reply:
            assert reply.headers["x-accel-buffering"] == "no"

    assert kinds == ["image_generation.partial_image"] * 2 + ["image_generation.completed"]
    assert [fields["model"] for _, fields in images.requests] == ["painter"] * 3


async def test_a_backend_that_lists_the_model_is_routed_to() -> None:
    async with serve(DemoBackend()) as server:
        created = await server.sdk.images.generate(model="demo", prompt="a green line")
        with pytest.raises(BadRequestError):
            await server.sdk.images.generate(model="gpt-image-1", prompt="a green line")
    assert inspect(base64.b64decode(created.data[0].b64_json or "")).format == "png"  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "param"),
    [({"prompt": ""}, "prompt"), ({"model": "painter"}, "prompt"), ({"prompt": "x", "n": 11}, "n")],
)
async def test_what_makes_no_sense_is_refused_by_name(body: dict[str, Any], param: str) -> None:
    async with serving("sqlite://") as (server, images, _):
        status, answer = await server.post("/images/generations", json=body)
    error: Any = answer["error"]
    assert (status, error["param"], images.requests) == (400, param, [])


async def test_a_field_that_comes_twice_in_a_form_is_refused() -> None:
    form = (
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\npainter\r\n'
        b'--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n'
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nother\r\n--b--\r\n'
    )
    async with serving("sqlite://") as (server, images, _):
        headers = {"content-type": "multipart/form-data; boundary=b"}
        status, answer = await server.post("/images/edits", data=form, headers=headers)
    assert (status, images.requests) == (400, [])
    assert "more than once. Send it once." in str(answer)


async def test_an_error_of_the_server_reaches_the_client() -> None:
    async with serving("sqlite://") as (server, _, __):
        with pytest.raises(BadRequestError) as refused:
            await server.sdk.images.generate(model="painter", prompt="x", output_format="webp")
    assert refused.value.param == "output_format"


@pytest.mark.parametrize("status", [301, 302, 307])
async def test_a_redirect_of_the_server_is_not_passed_on(status: int) -> None:
    async def moved(request: web.Request, fields: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=status, headers={"location": "http://127.0.0.1:1/elsewhere"})

    async with serving("sqlite://") as (server, images, _):
        images.handler = moved
        body = {"model": "painter", "prompt": "a square"}
        async with server.http.post(
            f"{server.url}/images/generations", json=body, allow_redirects=False
        ) as reply:
            assert (reply.status, "location" in reply.headers) == (502, False)


async def test_keys_and_their_limits_hold() -> None:
    async with serving("sqlite://") as (server, images, _):
        allowed = bearing(
            await issue(server.parts.store, models=("painter",), requests_per_minute=1)
        )
        refused = bearing(await issue(server.parts.store, models=("m",)))
        body = {"model": "painter", "prompt": "a square"}
        first = await server.post("/images/generations", json=body, headers=allowed)
        second = await server.post("/images/generations", json=body, headers=allowed)
        third = await server.post("/images/generations", json=body, headers=refused)
        fourth = await server.post("/images/generations", json=body)

    assert [status for status, _ in (first, second, third, fourth)] == [200, 429, 400, 401]
    assert len(images.requests) == 1


async def charged(server: RunningServer) -> tuple[int, int, int]:
    """The requests and tokens that were charged to all keys."""
    await server.parts.jobs.meter.settle()
    rows = await server.parts.store.read(api_keys.usage, None, 0, 2**40)
    return (
        sum(row.requests for row in rows),
        sum(row.input_tokens for row in rows),
        sum(r.output_tokens for r in rows),
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_is_charged_what_the_server_reports(stream: bool) -> None:
    async with serving("sqlite://") as (server, _, __):
        key = await issue(server.parts.store)
        body = {"model": "painter", "prompt": "a red square", "stream": stream}
        async with server.http.post(
            f"{server.url}/images/generations", json=body, headers=bearing(key)
        ) as reply:
            await reply.read()
        assert await charged(server) == (1, 3, 64)


async def test_a_key_is_charged_for_its_prompt_where_the_server_reports_nothing() -> None:
    async def silent(request: web.Request, fields: dict[str, Any]) -> web.Response:
        return web.json_response({"data": [{"b64_json": base64.b64encode(paint("x")).decode()}]})

    async with serving("sqlite://") as (server, images, _):
        images.handler = silent
        key = await issue(server.parts.store)
        body = {"model": "painter", "prompt": "a red square" * 20}
        assert (await server.post("/images/generations", json=body, headers=bearing(key)))[0] == 200
        requests, tokens, written = await charged(server)
    assert (requests, written) == (1, 0)
    assert tokens > 20


async def requested(
    answer: Any, *, stream: bool = False, files: Any = None, **fields: Any
) -> tuple[int, str]:
    """The status and the text that a client receives where the image server sends this."""

    async def handle(request: web.Request, _: dict[str, Any]) -> web.Response:
        sent = answer(f"http://{request.host}") if callable(answer) else answer
        data = (
            f"event: image_generation.completed\ndata: {json.dumps(sent)}\n\ndata: [DONE]\n\n"
            if stream
            else sent
        )
        kind = "text/event-stream" if stream else "application/json"
        text = data if isinstance(data, str) else json.dumps(data)
        return web.Response(text=text, content_type=kind)

    async with (
        images_server(files) as images,
        serving("sqlite://", images=images) as (server, _, __),
    ):
        images.handler = handle
        body = {"model": "painter", "prompt": "x", "stream": stream, **fields}
        async with server.http.post(f"{server.url}/images/generations", json=body) as reply:
            return reply.status, await reply.text()


async def a_picture(_: web.Request) -> web.Response:
    return web.Response(body=paint("x"))


async def test_an_image_by_url_of_the_server_itself_is_returned_as_base64() -> None:
    one = {"created": 1, "data": [{"url": "", "b64_json": "AA=="}]}
    status, text = await requested(
        lambda origin: {**one, "data": [*one["data"], {"url": f"{origin}/files/a.png"}]},  # type: ignore[misc] # JSON
        files=a_picture,
        response_format="url",
    )
    picture = base64.b64encode(paint("x")).decode()
    assert (status, json.loads(text)) == (
        200,
        {"created": 1, "data": [{"b64_json": "AA=="}, {"b64_json": picture}]},
    )


async def test_an_image_by_url_in_a_stream_is_replaced_too() -> None:
    status, text = await requested(
        lambda origin: {"type": "image_generation.completed", "url": f"{origin}/files/a.png"},
        stream=True,
        files=a_picture,
    )
    lines = text.splitlines()
    assert (status, lines[0], lines[3]) == (
        200,
        "event: image_generation.completed",
        "data: [DONE]",
    )
    picture = base64.b64encode(paint("x")).decode()
    assert json.loads(lines[1].partition(":")[2]) == {
        "type": "image_generation.completed",
        "b64_json": picture,
    }


async def test_a_data_url_is_an_image_as_well() -> None:
    picture = base64.b64encode(paint("x")).decode()
    assert json.loads(
        (await requested({"data": [{"url": f"data:image/png;base64,{picture}"}]}))[1]
    ) == {"data": [{"b64_json": picture}]}


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"url": "http://10.0.0.7/secret.png"}]},
        {"images": [{"more": {"url": "file:///secret.png"}}]},
        '{"data": [{"\\u0075rl": "http://10.0.0.7/secret.png"}]}',
        '{"data": [{"url": "http://10.0.0.7/secret.png"}',
        lambda origin: {"data": [{"url": f"{origin}/files/secret.png"}]},
    ],
    ids=["private", "scheme", "escaped", "broken", "no image"],
)
async def test_no_address_reaches_the_client_unchecked(answer: Any) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="no image")

    status, text = await requested(answer, files=page)
    assert (status, "secret.png" in text) == (502, False)


async def test_in_a_stream_no_address_reaches_the_client_unchecked() -> None:
    sent = {"type": "image_generation.completed", "url": "http://10.0.0.7/secret.png"}
    try:
        _, text = await requested(sent, stream=True)
    except ClientPayloadError:  # the answer broke off
        return
    assert "secret.png" not in text


async def test_images_by_url_are_fetched_only_as_long_as_their_answer_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched = list[str]()

    async def picture(request: web.Request) -> web.Response:
        fetched.append(request.path)
        return await a_picture(request)

    monkeypatch.setattr(image_answers, "MOST_ANSWER", 2 * len(base64.b64encode(paint("x"))) + 1)
    for urls, expected in ((2, 200), (9, 502)):
        fetched.clear()
        status, _ = await requested(
            lambda origin, urls=urls: {"data": [{"url": f"{origin}/files/a.png"}] * urls},  # type: ignore[misc] # JSON
            files=picture,
        )
        assert (status, len(fetched)) == (expected, min(urls, 3))


async def test_an_answer_without_addresses_keeps_its_bytes() -> None:
    text = '{ "data": [ {"b64_json":"AA==", "revised_prompt": "\\u00fc", "url": null} ] }'
    assert await requested(text) == (200, text)


class Slow:
    """An image server that sends an answer of many bytes, and its end only once it may."""

    def __init__(self, size: int, kind: str = "application/json") -> None:
        self.text = b'{"data": [{"b64_json": "' + b"A" * size
        self.kind, self.may_end = kind, asyncio.Event()

    async def answer(self, request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-type": self.kind})
        await reply.prepare(request)
        await reply.write(self.text)
        await self.may_end.wait()
        await reply.write(b'"}]}\n')
        await reply.write_eof()
        return reply


PAINT = {"model": "painter", "prompt": "x"}
MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_buffered_for_a_check_counts_as_memory_until_it_is_sent(kind: str) -> None:
    server = Slow(MEBIBYTE, kind)
    async with serving("sqlite://") as (running, images, _):
        images.handler = server.answer
        memory = running.parts.run.history.memory
        pending = asyncio.create_task(
            running.http.post(f"{running.url}/images/generations", json=PAINT)
        )
        await until(lambda: memory.size - memory.left >= MEBIBYTE)
        server.may_end.set()
        async with await pending as reply:
            assert (reply.status, len(await reply.read())) == (200, len(server.text) + 5)
        await until(lambda: memory.left == memory.size)


async def test_an_answer_is_refused_while_there_is_no_room_for_it_and_an_answer_that_never_fits_by_its_size() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    replies = []
    for size, used in ((MEBIBYTE, 3 * MEBIBYTE), (MEBIBYTE, 0), (4 * MEBIBYTE, 0)):
        server = Slow(size)
        server.may_end.set()
        async with serving(
            "sqlite://", memory=4 * MEBIBYTE, limits=ServerLimits(body=64 * 1024)
        ) as (
            running,
            images,
            _,
        ):
            images.handler = server.answer
            running.parts.run.history.memory.take(used)
            status, answer = await running.post("/images/generations", json=PAINT)
            replies.append((status, str(answer.get("error"))))
            await until(
                lambda memory=running.parts.run.history.memory, used=used: (
                    memory.size - memory.left == used
                )
            )  # type: ignore[misc] # of this turn
    assert [status for status, _ in replies] == [503, 200, 502]
    assert "all the memory" in replies[0][1]
    assert str(4 * MEBIBYTE) in replies[2][1]


async def test_the_images_of_one_tenant_leave_room_for_another() -> None:
    server = Slow(4 * MEBIBYTE)
    replies = []
    async with serving("sqlite://", memory=8 * MEBIBYTE, limits=ServerLimits(body=64 * 1024)) as (
        running,
        images,
        _,
    ):
        keys = [bearing(await issue(running.parts.store, tenant)) for tenant in ("greedy", "other")]
        images.handler = server.answer
        path = f"{running.url}/images/generations"
        memory = running.parts.run.history.memory
        retained = asyncio.create_task(running.http.post(path, json=PAINT, headers=keys[0]))
        await until(lambda: memory.size - memory.left >= 4 * MEBIBYTE)
        for key in keys:
            images.handler = (small := Slow(3 * MEBIBYTE)).answer
            small.may_end.set()
            replies.append((await running.post("/images/generations", json=PAINT, headers=key))[0])
        server.may_end.set()
        async with await retained as reply:
            assert reply.status == 200
    assert replies == [503, 200]


async def test_an_answer_that_had_room_is_sent_although_others_have_filled_the_memory_while_it_was_checked() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    server = Slow(100, "text/event-stream")
    server.text = b'data: {"data": [{"url": "", "b64_json": "' + b"A" * 1000
    server.may_end.set()
    async with serving("sqlite://", memory=8 * MEBIBYTE, limits=ServerLimits(body=64 * 1024)) as (
        running,
        images,
        _,
    ):
        key = bearing(await issue(running.parts.store, "greedy"))
        images.handler = server.answer
        memory = running.parts.run.history.memory
        memory.take(4 * MEBIBYTE, "greedy")
        take = memory.take
        size_of_answer = len(server.text) + len(b'"}]}\n')
        filled = list[int]()

        def fill(size: int, tenant: str = "") -> None:
            take(size, tenant)
            if (
                size == 2 * size_of_answer
            ):  # it may have a URL, counts three times, and is checked next
                take(memory.left)
                filled.append(memory.left)

        memory.take = fill  # type: ignore[method-assign] # others come while the answer is checked
        async with running.http.post(
            f"{running.url}/images/generations", json=PAINT, headers=key
        ) as reply:
            text = await reply.text()
    assert filled == [0]
    assert (reply.status, "A" * 1000 in text) == (200, True)
