"""Chat Completions and embeddings: the request is encoded anew, the answer passes byte for byte."""

import asyncio
import json

import aiohttp
import pytest

from antiphon.storage.open import open_store
from antiphon.upstream.http import HttpBackend
from tests.support.keys import bearing, issue
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, completion, sse, text
from tests.support.server import RunningServer, serve

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "min_p": 0.1}


async def test_a_plain_answer_passes_byte_for_byte(
    server: RunningServer, backend: ReplayBackend
) -> None:
    odd = b'{ "choices" : [ ],\n "x": 1e2, "\\u00e9": null }'
    backend.script = lambda request: Answer([odd[:7], odd[7:]], "application/json; charset=utf-8")
    requested = json.dumps(CHAT, indent=3).encode()
    async with server.http.post(f"{server.url}/chat/completions", data=requested) as response:
        assert (response.status, response.headers["content-type"]) == (
            200,
            "application/json; charset=utf-8",
        )
        assert await response.read() == odd

    assert [json.loads(body) for body in backend.bodies] == [CHAT]


async def test_of_a_key_that_stands_twice_the_backend_sees_the_value_that_was_checked(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([completion("Hi")], JSON)
    requested = (
        b'{"model":"m2","model":"m","messages":[{"role":"user","content":"a",'
        b'"content":"b\xc3\xa9"}],"n":1}'
    )
    async with server.http.post(f"{server.url}/chat/completions", data=requested) as response:
        assert response.status == 200

    assert backend.bodies == [
        '{"model":"m","messages":[{"role":"user","content":"bé"}],"n":1}'.encode()
    ]


async def test_a_stream_passes_byte_for_byte_as_it_comes(
    server: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    first = b": hello\r\n\r\ndata: {broken\n\n"
    rest = text("a", "b")
    backend.script = lambda request: Answer([first], STREAM, wait=go, rest=[rest])
    async with server.http.post(
        f"{server.url}/chat/completions", json={**CHAT, "stream": True}
    ) as response:
        seen = await response.content.readexactly(len(first))
        go.set()
        seen += await response.read()

    assert seen == first + rest
    assert response.headers["content-type"] == STREAM


async def test_an_answer_that_breaks_off_breaks_off(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([sse({"choices": []}, done=False)], STREAM, cut=True)
    with pytest.raises(aiohttp.ClientPayloadError):
        async with server.http.post(
            f"{server.url}/chat/completions", json={**CHAT, "stream": True}
        ) as response:
            assert response.status == 200
            await response.read()


async def test_a_client_that_leaves_ends_the_backends_call(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([text("a")[:20]], STREAM, wait=asyncio.Event())
    response = await server.http.post(
        f"{server.url}/chat/completions", json={**CHAT, "stream": True}
    )
    await response.content.readany()
    response.close()

    await asyncio.wait_for(backend.left.wait(), 30)


async def test_the_sdk_chats_through(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: (
        Answer([text("Once ", "upon")])
        if request.get("stream")
        else Answer([completion("Once upon")], JSON)
    )
    plain = await server.sdk.chat.completions.create(model="m", messages=CHAT["messages"])
    streamed = await server.sdk.chat.completions.create(
        model="m", messages=CHAT["messages"], stream=True
    )
    content = [chunk.choices[0].delta.content or "" async for chunk in streamed if chunk.choices]

    assert plain.choices[0].message.content == "".join(content) == "Once upon"


async def test_a_backends_refusal_names_the_parameter_that_the_client_sent(
    server: RunningServer, backend: ReplayBackend
) -> None:
    error = {
        "message": "max_tokens is too large",
        "type": "x",
        "param": "max_tokens",
        "code": "invalid_value",
    }
    backend.script = lambda request: Answer(
        [json.dumps({"error": error}).encode()], JSON, status=400
    )
    status, body = await server.post("/chat/completions", json={**CHAT, "max_tokens": 10**9})

    assert (status, body) == (400, {"error": error | {"type": "invalid_request_error"}})


async def test_a_too_long_conversation_is_reported_for_its_messages(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([b'{"error": "prompt is too long"}'], JSON, status=400)
    status, body = await server.post("/chat/completions", json=CHAT)

    assert (status, body["error"]["code"], body["error"]["param"]) == (
        400,
        "context_length_exceeded",
        "messages",
    )


@pytest.mark.parametrize(("status", "expected"), [(401, 502), (500, 502), (503, 503), (429, 429)])
async def test_a_backends_failure_has_the_envelope(
    server: RunningServer, backend: ReplayBackend, status: int, expected: int
) -> None:
    backend.script = lambda request: Answer(
        [b"<html>sk-secret-backend-key</html>"], "text/html", status=status
    )
    answered, body = await server.post("/chat/completions", json=CHAT)

    assert answered == expected
    assert set(body) == {"error"}
    assert "secret" not in json.dumps(body)


async def test_embeddings_pass_byte_for_byte(server: RunningServer, backend: ReplayBackend) -> None:
    reported = b'{"object":"list", "data":[{"embedding":[0.10]}]}'
    backend.script = lambda request: Answer([reported], JSON)
    async with server.http.post(
        f"{server.url}/embeddings", data=b'{"model":"m",  "input":"x"}'
    ) as response:
        assert await response.read() == reported

    assert backend.heads[0].startswith(b"POST /v1/embeddings ")
    assert backend.bodies == [b'{"model":"m","input":"x"}']


@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings"])
async def test_an_unknown_model_is_refused_here(
    server: RunningServer, backend: ReplayBackend, path: str
) -> None:
    status, body = await server.post(path, json={**CHAT, "model": "x", "input": "x"})

    assert (status, body["error"]["code"], backend.requests) == (400, "model_not_found", [])


@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings"])
async def test_a_key_restricted_to_models_cannot_be_led_to_another(
    backend: ReplayBackend, path: str
) -> None:
    backend.script = lambda request: Answer([completion("Hi")], JSON)
    store = await open_store("sqlite://")
    restricted = await issue(store, "a", models=["m"])
    free = await issue(store, "b")
    body = {**CHAT, "input": "x", "api_base": "http://127.0.0.1:1/v1", "models": ["m2"]}
    async with serve(HttpBackend("replay", backend.url, ""), store=store) as server:
        statuses = {}
        for key in (restricted, free):
            async with server.http.post(
                f"{server.url}{path}", json=body, headers=bearing(key)
            ) as response:
                statuses[key] = (
                    response.status,
                    (await response.json()).get("error", {}).get("param"),
                )

    assert statuses == {restricted: (400, "api_base"), free: (200, None)}
    assert [request["model"] for request in backend.requests] == ["m"]
