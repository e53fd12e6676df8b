"""Bodies over HTTP: compressed, too large, too many, too slow (bad inputs 13 to 17 and 20)."""

import asyncio
import gzip
import json
import tracemalloc
from typing import Any

import pytest

from antiphon.server.limits import ServerLimits
from antiphon.upstream.http import HttpBackend
from tests.support.raw import BODY, connected, error_of, post, state, status_of
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually
from tests.unit.server.test_inflate import COMPRESS

MEGABYTE = 1024 * 1024


async def send(server: RunningServer, body: bytes, **headers: str) -> tuple[int, Any]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    status, reply = await server.post(
        "/responses", data=body, headers={"content-type": "application/json", **sent}
    )
    return status, reply


@pytest.mark.parametrize("coding", COMPRESS)
async def test_a_compressed_request_is_answered_like_a_plain_one(
    server: RunningServer, coding: str
) -> None:
    text = "a long way " * 20_000
    body = json.dumps({"model": "m", "input": text}).encode()
    status, response = await send(server, COMPRESS[coding](body), content_encoding=coding)
    _, listed = await server.get(f"/responses/{response['id']}/input_items")

    assert status == 200
    assert listed["data"][0]["content"][0]["text"] == text


@pytest.mark.parametrize("coding", COMPRESS)
async def test_the_same_request_is_the_same_however_it_is_packed(
    server: RunningServer, coding: str
) -> None:
    first = await send(server, BODY, idempotency_key="k")
    again = await send(server, COMPRESS[coding](BODY), idempotency_key="k", content_encoding=coding)
    other = COMPRESS[coding](BODY.replace(b"x", b"y"))

    assert first[1]["id"] == again[1]["id"]
    assert (await send(server, other, idempotency_key="k", content_encoding=coding))[0] == 422


@pytest.mark.wide
@pytest.mark.parametrize("coding", COMPRESS)
async def test_a_decompression_bomb_is_rejected_before_it_is_expanded(
    server: RunningServer, backend: ReplayBackend, coding: str
) -> None:
    bomb = (
        COMPRESS[coding](bytes(2000 * MEGABYTE))
        if coding == "zstd"
        else gzip.compress(bytes(200 * MEGABYTE))
    )
    tracemalloc.start()
    try:
        status, reply = await send(server, bomb, content_encoding=coding)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (status, reply["error"]["code"], reply["error"]["param"]) == (
        413,
        "request_too_large",
        None,
    )
    assert peak < 40 * MEGABYTE
    assert backend.requests == []


@pytest.mark.wide
async def test_others_are_answered_while_a_bomb_is_inflated(server: RunningServer) -> None:
    bomb = gzip.compress(bytes(31 * MEGABYTE))
    answered = []

    async def request() -> None:
        assert (await server.get("/models"))[0] == 200
        answered.append("models")

    async def throw() -> None:
        assert (await send(server, bomb, content_encoding="gzip"))[
            0
        ] == 400  # of zeros, which are no JSON
        answered.append("bomb")

    await asyncio.gather(throw(), request())

    assert answered == ["models", "bomb"]


UNKNOWN = "unsupported_media_type"
STATED: dict[str, tuple[dict[str, str], bytes, int, str | None]] = {
    "brotli": ({"content_encoding": "br"}, BODY, 415, UNKNOWN),
    "two encodings": ({"content_encoding": "gzip, zstd"}, BODY, 415, UNKNOWN),
    "plain, said to be gzip": ({"content_encoding": "gzip"}, BODY, 400, None),
    "half a frame": ({"content_encoding": "zstd"}, COMPRESS["zstd"](BODY)[:-3], 400, None),
    "half a member": ({"content_encoding": "gzip"}, COMPRESS["gzip"](BODY)[:-9], 400, None),
    "text": ({"content_type": "text/plain"}, BODY, 415, UNKNOWN),
    "a form": ({"content_type": "application/x-www-form-urlencoded"}, BODY, 415, UNKNOWN),
    "UTF-16": ({"content_type": "application/json; charset=utf-16"}, BODY, 415, UNKNOWN),
    "UTF-8": ({"content_type": "application/json; charset=UTF-8"}, BODY, 200, None),
    "anything": ({"content_type": "application/octet-stream"}, BODY, 200, None),
    "identity": ({"content_encoding": "identity"}, BODY, 200, None),
}


@pytest.mark.parametrize(("headers", "body", "status", "code"), STATED.values(), ids=STATED)
async def test_a_wrong_content_type_of_a_body_is_rejected(
    server: RunningServer, headers: dict[str, str], body: bytes, status: int, code: str | None
) -> None:
    got, reply = await send(server, body, **headers)

    assert got == status
    if status != 200:
        assert (reply["error"]["type"], reply["error"]["code"]) == ("invalid_request_error", code)


async def test_a_body_without_a_content_type_is_parsed_as_json(server: RunningServer) -> None:
    assert status_of(await state(server.url, post())) == 200


@pytest.fixture
async def small(backend: ReplayBackend) -> Any:
    """A server that takes little."""
    async with serve(
        HttpBackend("replay", backend.url), limits=ServerLimits(body=2000), memory=5000
    ) as one:
        yield one


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("size", "status"), [(1900, 200), (2100, 413)])
async def test_the_limit_is_for_what_is_inside(
    small: RunningServer, packed: bool, size: int, status: int
) -> None:
    body = json.dumps({"model": "m", "input": "x" * (size - 26)}).encode()
    headers = {"content_encoding": "gzip"} if packed else {}

    assert (await send(small, gzip.compress(body) if packed else body, **headers))[0] == status


async def test_a_body_in_chunks_is_counted_as_it_comes(small: RunningServer) -> None:
    async def chunks() -> Any:
        for _ in range(30):
            yield b" " * 100

    status, reply = await small.post(
        "/responses", data=chunks(), headers={"content-type": "application/json"}
    )

    assert (status, reply["error"]["code"]) == (413, "request_too_large")


async def test_a_body_with_a_too_large_declared_size_is_rejected_unread(
    server: RunningServer,
) -> None:
    reply = await state(server.url, post(b"", length=10_000_000_000))

    assert (status_of(reply), error_of(reply)["code"]) == (413, "request_too_large")
    assert b"connection: close" in reply


async def test_a_client_that_still_sends_is_read_to_the_end_and_receives_the_reason(
    server: RunningServer,
) -> None:
    async with connected(server.url) as (reader, writer):
        writer.write(post(b"", length=40 * MEGABYTE))
        for _ in range(40):
            writer.write(bytes(MEGABYTE))
            await writer.drain()
        reply = await asyncio.wait_for(reader.read(), 30)

    assert status_of(reply) == 413


async def test_a_request_that_will_be_refused_receives_no_100_continue(
    server: RunningServer,
) -> None:
    expecting = await state(server.url, post(b"", b"expect: 100-continue", length=10_000_000_000))

    assert expecting.startswith(b"HTTP/1.1 413 ")


async def test_bodies_together_have_a_limit_and_make_room_when_they_are_done(
    small: RunningServer, backend: ReplayBackend
) -> None:
    large = json.dumps({"model": "m", "input": "x" * 1800}).encode()
    async with connected(small.url) as (_, one), connected(small.url) as (_, two):
        for writer in (one, two):
            writer.write(post(large[:-1], length=len(large)))
            await writer.drain()
        while True:
            status, reply = await send(small, large)
            if status == 503:
                break
        assert (reply["error"]["type"], reply["error"]["code"]) == (
            "service_unavailable_error",
            "server_is_overloaded",
        )
        assert (await send(small, BODY))[0] == 200
    await eventually(lambda: send(small, large), lambda one: one[0] == 200)


async def test_a_body_that_comes_too_slowly_is_cut_off(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.server.request.BODY_TIMEOUT", 0.05)
    reply = await state(server.url, post(BODY[:10], length=len(BODY)))

    assert (status_of(reply), error_of(reply)["code"]) == (408, None)
    assert error_of(reply)["message"].startswith("The request timed out: its body ")
    assert b"connection: close" in reply


async def test_a_large_body_has_more_time(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.server.request.BODY_TIMEOUT", 0.0)
    monkeypatch.setattr("antiphon.server.request.BODY_RATE", 0.001)
    async with connected(server.url) as (reader, writer):
        writer.write(post(BODY[:10], length=len(BODY)))
        assert (await server.get("/models"))[0] == 200
        writer.write(BODY[10:])
        reply = await asyncio.wait_for(reader.read(), 30)

    assert status_of(reply) == 200
