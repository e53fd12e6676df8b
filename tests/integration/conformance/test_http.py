"""Steps performed against a real server on this machine."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web

from antiphon_verify.exchange import Exchange, Pause, Request, Step, Together
from antiphon_verify.http import MAX_BODY, Subject
from tests.support.waiting import let_others_run
from tests.support.web_app import serving_app

Endpoint = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(endpoint: Endpoint) -> AsyncIterator[str]:
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/v1/{tail:.*}", endpoint)
    async with serving_app(app) as origin:
        yield f"{origin}/v1"


async def requested(url: str, *steps: Step, key: str = "", seconds: float = 30.0) -> list[Exchange]:
    exchanges = []
    async with Subject(url, key) as subject, subject.visit(seconds) as visit:
        for step in steps:
            came = await visit.perform(step)
            exchanges += came if isinstance(came, list) else [came] if came else []
    return exchanges


async def echo(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path,
            "headers": dict(request.headers),
            "body": await request.text(),
        }
    )


async def test_a_request_goes_out_as_it_is_and_its_answer_comes_whole() -> None:
    request = Request(
        method="POST", path="/responses/..%2f?x=%00&y=[]", body={"a": "é"}, headers={"X-A": "1"}
    )
    async with serving(echo) as url:
        [exchange] = await requested(f"{url}/", request, key="sk-key")

    assert (exchange.status, exchange.fault, exchange.is_ok) == (200, "", True)
    assert exchange.headers["content-type"] == "application/json; charset=utf-8"
    received = exchange.json
    assert (received["method"], received["path"], received["body"]) == (
        "POST",
        f"/v1{request.path}",
        '{"a": "\\u00e9"}',
    )
    assert {name.lower(): value for name, value in received["headers"].items()}.items() >= {
        "authorization": "Bearer sk-key",
        "content-type": "application/json",
        "x-a": "1",
    }.items()


async def test_a_case_may_take_headers_away_and_send_bytes() -> None:
    request = Request(
        method="PUT",
        path="/x",
        content=b"\xff",
        headers={"authorization": "", "content-type": "a/b"},
    )
    async with serving(echo_bytes) as url:
        [exchange] = await requested(url, request, key="sk-key")

    assert exchange.json == {"body": "ff", "authorization": None, "type": "a/b", "encoding": None}


async def echo_bytes(request: web.Request) -> web.Response:
    headers = request.headers
    named = {"authorization": headers.get("Authorization"), "type": request.content_type}
    return web.json_response(
        {"body": (await request.read()).hex(), **named, "encoding": headers.get("Accept-Encoding")}
    )


async def test_nothing_is_undone_that_the_server_did() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(
            status=302,
            body=gzip.compress(b"x"),
            headers={"location": "/v1/y", "content-encoding": "gzip"},
        )

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="GET", path="/x"))

    assert exchange.status == 302
    assert gzip.decompress(exchange.body) == b"x"


async def test_requests_are_sent_at_once_and_answered_in_order() -> None:
    all_tenants = asyncio.Barrier(3)

    async def answer(request: web.Request) -> web.Response:
        await all_tenants.wait()
        return web.Response(text=request.path)

    requests = tuple(Request(method="GET", path=f"/{number}") for number in range(3))
    async with serving(answer) as url:
        exchanges = await requested(url, Pause(0), Together(requests))

    assert [exchange.body for exchange in exchanges] == [b"/v1/0", b"/v1/1", b"/v1/2"]


async def test_a_connection_serves_again() -> None:
    async with serving(echo) as url:
        exchanges = await requested(url, *[Request(method="GET", path="/x")] * 2)

    assert [exchange.is_reused for exchange in exchanges] == [False, True]


async def test_a_client_that_disconnects_has_the_events_until_then() -> None:
    left = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"data: 1\n\n")
                await let_others_run()
        finally:
            left.set()

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="GET", path="/x", leave_after=20))
        await asyncio.wait_for(left.wait(), 30)

    assert exchange.body.startswith(b"data: 1\n\ndata: 1\n\n")
    assert exchange.fault == ""


async def test_an_endless_answer_is_cut_and_reported() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="GET", path="/x"))

    assert MAX_BODY < len(exchange.body) < 2 * MAX_BODY
    assert exchange.fault == f"the response has more than {MAX_BODY} bytes"
    assert not exchange.is_ok


async def test_time_runs_out_with_what_came_until_then() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"so far")
        await asyncio.Event().wait()
        return response

    async with serving(answer) as url:
        late, later = await requested(url, *[Request(method="GET", path="/x")] * 2, seconds=0.3)

    assert (late.body, late.status) == (b"so far", 200)
    assert late.fault == later.fault
    assert late.fault.startswith("timed out ")


async def test_a_busy_server_is_retried() -> None:
    answers = iter([429, 503, 200])

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=next(answers), headers={"retry-after": "0"})

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="GET", path="/x"))

    assert exchange.status == 200


@pytest.mark.parametrize("reported", ["3600", "Fri, 20 Nov 2026 12:00:00 GMT", "-1", "9" * 400])
async def test_a_server_that_is_busy_for_long_is_believed(reported: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=429, headers={"retry-after": reported})

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="GET", path="/x"))

    assert exchange.status == 429


async def test_a_refused_connection_is_reported() -> None:
    [exchange] = await requested("http://127.0.0.1:9/v1", Request(method="GET", path="/x"))

    assert not exchange.is_reached
    assert exchange.fault.startswith("no connection (")
    assert exchange.came == exchange.fault


async def socket(request: web.Request) -> web.WebSocketResponse:
    server = web.WebSocketResponse()
    await server.prepare(request)
    async for message in server:
        if message.type is WSMsgType.TEXT and message.data == "bye":
            await server.close(code=4000)
        else:
            await server.send_str(f'{{"type": "x",\n "heard": {message.data}}}')
            await server.send_str('{"type": "response.completed"}')
    return server


async def test_a_socket_is_spoken_to_and_stays_open() -> None:
    stated = [Request(method="WS", path="/responses", body=number) for number in (1, 2)]
    other = Request(method="WS", path="/responses", body=3, socket=1)
    async with serving(socket) as url:
        exchanges = await requested(url, *stated, other)

    assert [exchange.events[0] for exchange in exchanges] == [
        {"type": "x", "heard": number} for number in (1, 2, 3)
    ]
    assert [(exchange.status, exchange.is_reused) for exchange in exchanges] == [
        (101, False),
        (101, True),
        (101, False),
    ]
    assert all(exchange.is_ok for exchange in exchanges)


async def test_an_accepted_call_can_end_before_the_answer_does() -> None:
    first = Request(method="WS", path="/responses", body=1, until="x")
    rest = Request(method="WS", path="/responses", content=b"")
    async with serving(socket) as url:
        begun, ended = await requested(url, first, rest)

    assert [event["type"] for event in begun.events] == ["x"]
    assert [event["type"] for event in ended.events] == ["response.completed"]


async def test_a_closed_socket_is_reported_and_reopened() -> None:
    content = [
        Request(method="WS", path="/responses", content=content) for content in (b"bye", b"1")
    ]
    async with serving(socket) as url:
        closed, again = await requested(url, *content)

    assert closed.fault == "the WebSocket was closed: close, code 4000"
    assert (again.is_ok, again.is_reused) == (True, False)


async def test_a_socket_that_is_refused_has_its_status() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=426, headers={"x-a": "1"})

    async with serving(answer) as url:
        [exchange] = await requested(url, Request(method="WS", path="/responses", body={}))

    assert (exchange.status, exchange.headers["x-a"]) == (426, "1")
