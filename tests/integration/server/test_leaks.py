"""What is said to the server, by a client or by a backend, is in no log, no metric and no span
(threats 26 to 31).
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from antiphon.errors import StoreError
from antiphon.protocol.requests import CreateResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.telemetry.context import About, begin
from antiphon.upstream.http import HttpBackend
from tests.support.canary import CANARY, Watched, watching
from tests.support.replay import STREAM, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

JSON = "application/json"
LINES = f"{CANARY}\r\nINFO {CANARY}"
SHAPES: list[Any] = [CANARY, {CANARY: CANARY}, [CANARY], [{"type": CANARY, CANARY: CANARY}], LINES]
FIELDS = sorted({field.encode_name for field in structs.fields(CreateResponse)} | {CANARY})
REFUSALS = (400, 401, 402, 404, 413, 429, 500, 503)
CALL = {"index": 0, "function": {"name": CANARY, "arguments": CANARY}}
UPGRADE = "host: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
ERROR = json.dumps(
    {"error": {"message": CANARY, "code": CANARY, "type": CANARY, "param": CANARY}}
).encode()
HEADERS = {
    "Authorization": f"Bearer sk-{CANARY}",
    "X-Api-Key": CANARY,
    "Idempotency-Key": CANARY,
    "User-Agent": CANARY,
    "Cookie": f"{CANARY}={CANARY}",
    "OpenAI-Organization": CANARY,
    "X-Request-Id": CANARY,
    "Traceparent": CANARY,
    "Antiphon-Cache": CANARY,
    CANARY: CANARY,
}


@pytest.fixture
def watched() -> Iterator[Watched]:
    with watching() as one:
        yield one


@pytest.fixture
async def leaky(backend: ReplayBackend, watched: Watched) -> AsyncIterator[RunningServer]:
    """A server that is watched, before a backend whose key is secret too.

    Its address is the operator's to see.
    """
    hidden = HttpBackend("b0", backend.url, f"sk-{CANARY}", first_byte_timeout=0.3)
    async with serve(hidden, measures=watched.measures, trace=watched.spans) as server:
        await server.parts.models.refresh()
        yield server


async def send(server: RunningServer, path: str = "/responses", **body: Any) -> int:
    """Ask, and hear all of the answer; return its status."""
    async with server.http.post(server.url + path, json=body) as response:
        await response.read()
        return response.status


async def nothing_leaked(watched: Watched, server: RunningServer) -> bool:
    reported = await watched.everything(server)
    assert "antiphon.access" in reported
    assert '"trace_id"' in reported
    assert [line for line in reported.splitlines() if CANARY in line.lower()] == []
    return True


@pytest.mark.parametrize("shape", SHAPES, ids=["text", "object", "list", "items", "lines"])
async def test_no_field_of_a_request_is_logged(
    leaky: RunningServer, watched: Watched, shape: Any
) -> None:
    for name in FIELDS:
        for more in ({}, {"stream": True}):
            assert await send(leaky, **{"model": "m", "input": "Hi", **more, name: shape}) in {
                200,
                400,
                404,
            }

    assert await nothing_leaked(watched, leaky)


async def test_a_request_full_of_canaries_is_answered_and_logged_nowhere(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched
) -> None:
    tool = {
        "type": "function",
        "name": CANARY,
        "description": CANARY,
        "parameters": {"properties": {CANARY: {}}},
    }
    custom = {
        "type": "custom",
        "name": f"{CANARY}2",
        "format": {"type": "grammar", "syntax": "regex", "definition": "b"},
    }
    call = {
        "id": CANARY,
        "index": 0,
        "type": "function",
        "function": {"name": f"{CANARY}2", "arguments": CANARY},
    }
    backend.script = lambda _: Answer(
        [sse(delta(content=CANARY), delta(tool_calls=[call]), delta("tool_calls"))]
    )
    body = {
        "model": "m",
        "instructions": CANARY,
        "input": [{"role": "user", "content": CANARY}, {"role": "assistant", "content": CANARY}],
        "tools": [
            tool,
            custom,
            {
                "type": "mcp",
                "server_label": CANARY,
                "server_url": f"https://{CANARY}/",
                "authorization": CANARY,
            },
        ],
        "metadata": {CANARY: CANARY},
        "user": CANARY,
        "safety_identifier": CANARY,
        "prompt_cache_key": CANARY,
        "text": {"format": {"type": "json_schema", "name": CANARY, "schema": {"title": CANARY}}},
        "stream": True,
    }
    assert await send(leaky, **body) == 200
    assert await send(leaky, **{**body, "background": True}) == 200
    assert CANARY in str(backend.requests)
    assert await nothing_leaked(watched, leaky)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            Answer([ERROR], JSON, status, headers={"retry-after": CANARY})
            for status in (400, 401, 402, 404, 413, 429, 500, 503)
        ),
        Answer([ERROR.replace(b'"ca7ary"', b'"sk-ca7ary"')], JSON, 500),
        Answer([CANARY.encode()], JSON),
        Answer([completion(CANARY).replace(b"chatcmpl-1", CANARY.encode())], JSON),
        Answer([b"data: " + ERROR + b"\n\n"]),
        Answer([b"data: " + CANARY.encode() + b"\n\n"]),
        Answer([sse({CANARY: CANARY, "model": CANARY}, delta(CANARY, content=CANARY))]),
        Answer([sse(delta(content=CANARY))], cut=True),
        Answer([sse(delta(content=CANARY), done=False)]),
        Answer([CANARY.encode()], content_type=f"text/{CANARY}"),
        Answer([], wait=asyncio.Event()),
        Answer(
            [
                sse(
                    delta(
                        tool_calls=[{"index": 0, "function": {"name": CANARY, "arguments": CANARY}}]
                    ),
                    delta("stop"),
                )
            ]
        ),
    ],
)
@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_no_fault_of_a_backend_is_quoted(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched, answer: Answer, path: str
) -> None:
    backend.script = lambda _: answer
    body = (
        {"input": CANARY}
        if path == "/responses"
        else {"messages": [{"role": "user", "content": CANARY}]}
    )
    for stream in (True, False):
        for _ in range(3):
            await send_anyhow(leaky, path, model="m", stream=stream, **body)

    assert await nothing_leaked(watched, leaky)


async def send_anyhow(server: RunningServer, path: str, **body: Any) -> None:
    """Ask one whose answer may be broken off."""
    with suppress(OSError, aiohttp.ClientError):
        await send(server, path, **body)


async def test_a_backend_that_fails_again_and_again_is_left_out_without_its_words(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched
) -> None:
    backend.script = lambda _: Answer([b"data: " + ERROR + b"\n\n"])
    for _ in range(6):
        await send(leaky, model="m", input=CANARY, stream=True)

    assert "only if no other backend" in watched.log
    assert await nothing_leaked(watched, leaky)


@pytest.mark.parametrize(
    "path",
    [f"/{CANARY}", f"/responses/{CANARY}", f"/responses?{CANARY}={CANARY}", f"/%0d%0a{CANARY}"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
async def test_no_url_and_no_header_is_logged(
    leaky: RunningServer, watched: Watched, path: str, method: str
) -> None:
    body = {"model": CANARY, "input": CANARY}
    async with leaky.http.request(method, leaky.url + path, headers=HEADERS, json=body) as response:
        await response.read()

    assert await nothing_leaked(watched, leaky)


@pytest.mark.parametrize(
    "sent",
    [
        f"GET /{CANARY} HTTP/9.9\r\n\r\n",
        f"{CANARY}\r\n\r\n",
        f"POST /v1/responses HTTP/1.1\r\nhost: {CANARY}\r\ncontent-length: {CANARY}\r\n\r\n",
        f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{CANARY}\r\n",
        f"GET /v1/responses HTTP/1.1\r\n{UPGRADE}sec-websocket-key: {CANARY}\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_not_quoted(
    leaky: RunningServer, watched: Watched, sent: str
) -> None:
    host, port = leaky.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent.encode())
    writer.write_eof()
    await reader.read()
    writer.close()
    await leaky.get("/models")

    assert await nothing_leaked(watched, leaky)


async def test_nothing_received_over_a_websocket_is_logged(
    leaky: RunningServer, watched: Watched
) -> None:
    stated = [
        CANARY,
        json.dumps({"type": CANARY, CANARY: CANARY}),
        json.dumps({"type": "response.create", "model": CANARY, "input": CANARY}),
        json.dumps(
            {"type": "response.create", "model": "m", "input": CANARY, "metadata": {CANARY: CANARY}}
        ),
        json.dumps(
            {
                "type": "response.create",
                "model": "m",
                "previous_response_id": CANARY,
                "stream_id": CANARY,
            }
        ),
        json.dumps({"type": "response.steer", "previous_response_id": CANARY, "input": CANARY}),
    ]
    async with leaky.http.ws_connect(
        leaky.url + f"/responses?{CANARY}", headers={CANARY: CANARY}
    ) as socket:
        for each in stated:
            await socket.send_str(each)
        while (await socket.receive_json())["type"] != "response.completed":
            pass
    assert await nothing_leaked(watched, leaky)


async def test_an_internal_error_is_logged_by_its_location_only(
    leaky: RunningServer, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*args: Any) -> Any:
        raise KeyError(f"{CANARY}: {args}")

    monkeypatch.setattr("antiphon.runs.model_calls.encode_body", stumble)
    for more in ({}, {"stream": True}, {"background": True}):
        await send(leaky, model="m", input=CANARY, **more)
    async with leaky.http.ws_connect(leaky.url + "/responses") as socket:
        await socket.send_json({"type": "response.create", "model": "m", "input": CANARY})
        assert (await socket.receive_json())["type"] == "error"

    assert watched.log.count("A fault in Antiphon") >= 3
    assert "in stumble" in watched.log
    assert "KeyError" in watched.log
    assert await nothing_leaked(watched, leaky)


@pytest.mark.parametrize("kind", [StoreError, ValueError])
async def test_a_store_that_fails_quotes_nothing(
    backend: ReplayBackend, watched: Watched, kind: type[Exception]
) -> None:
    class Failing(SqliteStore):
        async def save(self, *args: Any, **how: Any) -> bool:
            error = kind("The store operation failed.") if kind is StoreError else kind(CANARY)
            raise error from RuntimeError(f"DETAIL: ({CANARY})")

    store = Failing.open("sqlite://")
    async with serve(
        HttpBackend("b0", backend.url), store=store, measures=watched.measures, trace=watched.spans
    ) as server:
        await send(server, model="m", input=CANARY)
        await send_anyhow(server, "/responses", model="m", input=CANARY, stream=True)

        assert await nothing_leaked(watched, server)


async def test_a_disconnect_is_logged_without_the_content_of_the_request(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched
) -> None:
    backend.script = lambda _: Answer([sse(delta(content=CANARY))], STREAM, wait=asyncio.Event())
    async with leaky.http.post(
        leaky.url + "/responses", json={"model": "m", "input": CANARY, "stream": True}
    ) as response:
        await response.content.readany()
    async with asyncio.timeout(30):
        await backend.left.wait()
        await until(lambda: not leaky.parts.process.runs)

    assert await nothing_leaked(watched, leaky)


async def test_every_line_of_a_request_names_it_and_its_response(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched
) -> None:
    backend.script = lambda _: Answer([text("Hi")])
    async with leaky.http.post(
        leaky.url + "/responses", json={"model": "m", "input": "Hi", "stream": True}
    ) as response:
        request_id = response.headers["x-request-id"]
        response_id = re.search(rb"resp_\w+", await response.read())
    (line,) = [json.loads(one) for one in watched.json.getvalue().splitlines() if request_id in one]

    assert response_id is not None
    assert {
        name: line[name] for name in ("response_id", "backend", "outcome", "route", "status")
    } == {
        "response_id": response_id[0].decode(),
        "backend": "b0",
        "outcome": "completed",
        "route": "/v1/responses",
        "status": "200",
    }
    assert line["ms"] > 0
    assert line["trace_id"] == f"{watched.spans.spans()[0].context.trace_id:032x}"


async def test_a_warning_in_the_course_of_a_request_names_it(
    backend: ReplayBackend, leaky: RunningServer, watched: Watched
) -> None:
    backend.script = lambda _: Answer([b"{}"], JSON, 429, headers={"retry-after": "5"})
    async with leaky.http.post(
        leaky.url + "/responses", json={"model": "m", "input": "Hi"}
    ) as response:
        request_id = response.headers["x-request-id"]
    warning = next(line for line in watched.log.splitlines() if "is paused for 5 s" in line)

    assert re.search(rf"\[{request_id} resp_\w+ b0\]$", warning)


async def test_a_background_response_has_its_line_also_where_a_request_started_the_worker(
    backend: ReplayBackend, watched: Watched
) -> None:
    begin(About("req_1", is_exchange=True))
    async with serve(HttpBackend("b0", backend.url), measures=watched.measures) as server:
        await server.sdk.responses.create(model="m", input="Hi", background=True)
        found = await until(
            lambda: [one for one in lines_of(watched) if one.get("kind") == "background"]
        )

    assert [one.get("request_id") for one in found] == [None]


def lines_of(watched: Watched) -> list[dict[str, Any]]:
    """The log so far; a response is stored just before its line is written."""
    return [json.loads(line) for line in watched.json.getvalue().splitlines()]


@pytest.mark.parametrize("kind", ["message", "background"])
async def test_a_response_that_no_request_waits_for_has_a_line_of_its_own(
    leaky: RunningServer, watched: Watched, kind: str
) -> None:
    if kind == "background":
        created = await leaky.sdk.responses.create(model="m", input="Hi", background=True)
        while (await leaky.sdk.responses.retrieve(created.id)).status != "completed":
            pass
    else:
        async with leaky.http.ws_connect(leaky.url + "/responses") as socket:
            await socket.send_json({"type": "response.create", "model": "m", "input": "Hi"})
            while (await socket.receive_json())["type"] != "response.completed":
                pass
    found = await until(lambda: [one for one in lines_of(watched) if one.get("kind") == kind])
    (line,) = found

    assert (line["backend"], line["outcome"]) == ("b0", "completed")
    assert line["response_id"].startswith("resp_")
