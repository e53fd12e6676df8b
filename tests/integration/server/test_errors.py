"""Errors over HTTP: the envelope, whose fault it is, and that nothing leaks."""

import asyncio

import pytest

from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve

KEY = "sk-secret-backend-key"


async def refused(
    server: RunningServer, backend: ReplayBackend, answer: Answer, stream: bool = False
) -> tuple[int, dict]:
    backend.script = lambda request: answer
    status, body = await server.post(
        "/responses", json={"model": "m", "input": "Hi", "stream": stream}
    )
    assert set(body) == {"error"} and set(body["error"]) == {"message", "type", "param", "code"}
    return status, body["error"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    ("provided", "message", "status", "code", "param"),
    [
        (500, "kaput", 502, "server_error", None),
        (503, "busy", 503, "server_is_overloaded", None),
        (401, f"Incorrect API key: {KEY}", 502, "server_error", None),
        (429, "slow down", 429, "rate_limit_exceeded", None),
        (402, "pay", 429, "insufficient_quota", None),
        (400, "maximum context length is 512 tokens", 400, "context_length_exceeded", "input"),
        (404, "model 'm' not found", 400, "model_not_found", "model"),
    ],
)
async def test_a_backends_refusal_is_a_plain_http_error(
    server, backend, stream, provided, message, status, code, param
):
    answer = Answer([f'{{"error": {{"message": "{message}"}}}}'.encode()], JSON, status=provided)

    assert (await refused(server, backend, answer, stream))[0] == status
    error = (await refused(server, backend, answer, stream))[1]
    assert (error["code"], error["param"]) == (code, param)
    assert KEY not in error["message"]


async def test_a_rate_limit_reports_the_wait_in_words_and_in_a_header(server, backend):
    backend.script = lambda request: Answer(
        [b'{"error": "slow"}'], JSON, status=429, headers={"retry-after": "7"}
    )
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi"}
    ) as response:
        assert response.headers["retry-after"] == "7"
        assert "Please try again in 7s" in (await response.json())["error"]["message"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer([b"<html>"], "text/html"),
        Answer([], JSON),
        Answer([b'{"choices": ['], JSON),
        Answer([b"{}"], JSON),
    ],
    ids=["HTML", "empty", "truncated", "no choices"],
)
async def test_an_answer_that_is_no_completion_is_the_backends_failure(server, backend, answer):
    status, error = await refused(server, backend, answer)

    assert status == 502
    assert error["code"] == "server_error"


async def test_a_backend_that_cannot_be_reached_is_503(backend):
    async with serve(HttpBackend("gone", "http://127.0.0.1:9/v1")) as server:
        status, body = await server.post("/responses", json={"model": "m", "input": "Hi"})
    assert status == 503
    assert "127.0.0.1" not in body["error"]["message"]


async def test_an_unknown_path_and_a_wrong_method_have_the_envelope(server):
    assert await server.get("/nowhere") == (
        404,
        {
            "error": {
                "message": "Unknown request URL: GET /v1/nowhere. Please check the URL for typos.",
                "type": "invalid_request_error",
                "param": None,
                "code": "unknown_url",
            }
        },
    )
    async with server.http.post(server.url.removesuffix("/v1") + "/responses", json={}) as response:
        message = "Unknown request URL: POST /responses. The base URL of the API ends in /v1."
        assert (response.status, (await response.json())["error"]["message"]) == (404, message)
    async with server.http.put(f"{server.url}/responses") as response:
        assert response.status == 405
        assert (await response.json())["error"]["message"] == "Not allowed to PUT on /v1/responses."
        assert "POST" in response.headers["allow"]
        assert (await response.json())["error"]["code"] == "method_not_supported"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/responses/responses", 405),  # as a response's id
        ("/v1/chat/completions/chat/completions", 404),
        ("/v1/v1/responses", 404),
        ("/api/v1/chat/completions", 404),
        ("/images/edits", 404),  # of a resource that no request has loaded
    ],
)
async def test_a_base_url_that_does_not_end_in_v1_is_explained(server, path, status):
    async with server.http.post(server.url.removesuffix("/v1") + path, json={}) as response:
        assert response.status == status
        assert (await response.json())["error"]["message"].endswith(
            f"{path}. The base URL of the API ends in /v1."
        )


@pytest.mark.parametrize("path", ["/images", "/v1/images", "/v1/filesystem"])
async def test_a_path_that_only_begins_like_others_is_a_typo(server, path: str) -> None:
    async with server.http.get(server.url.removesuffix("/v1") + path) as response:
        assert response.status == 404
        assert "Please check the URL" in (await response.json())["error"]["message"]


async def test_every_reply_has_the_headers_of_the_api(server):
    async with server.http.get(f"{server.url}/models") as response:
        assert response.headers["x-request-id"].startswith("req_")
        assert response.headers["openai-processing-ms"].isdecimal()
        assert response.headers["openai-version"] == "2020-10-01"
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_refused_parameter_is_omitted_and_the_lesson_stored(server, backend):
    def script(request: dict) -> Answer:
        if "top_p" in request:
            return Answer(
                [b'{"error": {"message": "Unsupported parameter: \'top_p\'", "param": "top_p"}}'],
                JSON,
                400,
            )
        return Answer([completion("fine")], JSON)

    backend.script = script
    for _ in range(2):
        status, response = await server.post(
            "/responses", json={"model": "m", "input": "Hi", "top_p": 0.5}
        )
        assert (status, response["output_text"]) == (200, "fine")

    assert ["top_p" in request for request in backend.requests] == [True, False, False]


async def test_truncation_auto_drops_the_oldest_exchanges_until_the_input_fits(server, backend):
    def script(request: dict) -> Answer:
        if len(request["messages"]) > 2:
            return Answer([b'{"error": {"message": "prompt is too long"}}'], JSON, 400)
        return Answer([completion("fits")], JSON)

    backend.script = script
    content = [{"role": "user", "content": f"turn {turn}"} for turn in range(6)]
    status, response = await server.post(
        "/responses", json={"model": "m", "input": content, "truncation": "auto"}
    )
    assert (status, response["output_text"]) == (200, "fits")
    assert backend.requests[-1]["messages"][-1]["content"] == "turn 5"

    status, body = await server.post("/responses", json={"model": "m", "input": content})
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")


async def test_a_silent_backend_still_lets_the_stream_begin(server, backend, monkeypatch):
    monkeypatch.setattr("antiphon.server.exchange.GRACE", 0.01)
    monkeypatch.setattr("antiphon.server.exchange.COMMENT_AFTER", 0.02)
    monkeypatch.setattr("antiphon.server.exchange.KEEPALIVE_AFTER", 0.35)
    go = asyncio.Event()
    silent = Answer([], wait=go, rest=[sse(delta(content="At last"), delta("stop"))])
    backend.script = lambda request: silent
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
    ) as response:
        seen = b""
        while b"event: keepalive" not in seen or b": keep-alive" not in seen:
            seen += await response.content.readany()
        go.set()
        seen += await response.content.read()

    assert seen.index(b"event: response.created") < seen.index(b": keep-alive")
    assert b"event: response.completed" in seen


async def test_bad_http_gets_an_envelope_and_is_closed(server):
    host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"NONSENSE\r\n\r\n")
    reply = await reader.read()
    writer.close()

    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b'"type":"invalid_request_error"' in reply


async def test_headers_without_end_are_cut_off(server):
    host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /v1/models HTTP/1.1\r\n")
    for _ in range(17):
        writer.write(b"x-filler: " + b"y" * 4000 + b"\r\n")
        await writer.drain()
    reply = await reader.readline()
    writer.close()

    assert reply.startswith(b"HTTP/1.1 431 ")


async def test_slow_headers_are_cut_off(server, monkeypatch):
    monkeypatch.setattr("antiphon.http_server.closing.HEAD_TIMEOUT", 0.05)
    host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /v1/models HTTP/1.1\r\n")
    reply = await reader.read()
    writer.close()

    assert reply.startswith(b"HTTP/1.1 408 ")
