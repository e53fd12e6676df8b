"""What others have been attacked by, and what becomes of it here (threats 8, 12, 27, 31 and 40)."""

import asyncio
import json
import random
import re
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.upstream.http import HttpBackend
from tests.support.raw import post, state
from tests.support.replay import JSON, Answer, ReplayBackend, delta, echo, sse
from tests.support.server import RunningServer, serve

STEERING = (
    "api_base",
    "base_url",
    "api_key",
    "extra_headers",
    "extra_body",
    "organization",
    "custom_llm_provider",
)
ODD = [
    *(
        "a\r\ndata: {}\r\n\r\nevent: x",
        "a\n\nb",
        "a\rb",
        "a\u2028\u2029\x85\x0b\x0cb",
        "\x00",
        "id: 1\nretry: 1",
    ),
    "data: [DONE]",
]


async def events_of(server: RunningServer, **requested: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, as a strict reader sees them: each of exactly two lines."""
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "stream": True, **requested}
    ) as response:
        frames = (await response.read()).decode().split("\n\n")
    assert frames.pop() == ""
    lines = [frame.split("\n") for frame in frames if not frame.startswith(":")]
    assert all(
        len(pair) == 2 and pair[0].startswith("event: ") and pair[1].startswith("data: ")
        for pair in lines
    )
    return [(pair[0][7:], json.loads(pair[1][6:])) for pair in lines]


@pytest.mark.parametrize("name", STEERING)
@pytest.mark.parametrize(
    "path", ["/responses", "/chat/completions", "/embeddings", "/responses/input_tokens"]
)
async def test_a_request_never_chooses_where_it_goes_or_with_which_key(
    server: RunningServer, backend: ReplayBackend, name: str, path: str
) -> None:
    async with ReplayBackend(echo).serve() as canary:
        value: Any = (
            {"authorization": "Bearer stolen", "x-api-base": canary.url}
            if "extra" in name
            else canary.url
        )
        body = {
            "model": "m",
            "input": "x",
            "messages": [{"role": "user", "content": "x"}],
            name: value,
        }
        body.pop("input" if "chat" in path else "messages")
        headers = {
            "x-api-base": canary.url,
            "x-forwarded-host": canary.url,
            "openai-organization": canary.url,
        }
        await server.post(f"{path}?{name}={canary.url}", json=body, headers=headers)

    assert canary.requests == []
    assert all(
        b"\r\nauthorization: bearer sk-secret-backend-key\r\n" in head.lower()
        for head in backend.heads
    )
    assert not any(b"stolen" in head or canary.url.encode() in head for head in backend.heads)


@pytest.mark.wide
async def test_after_cancelled_requests_every_caller_still_receives_its_own_answer(
    server: RunningServer, backend: ReplayBackend
) -> None:
    dice = random.Random(26)
    wait = asyncio.Event()

    def script(request: dict[str, Any]) -> Answer:
        content = request["messages"][-1]["content"]
        if dice.random() < 0.5:
            return Answer(
                [sse(delta(content=content), done=False)], wait=wait, rest=[sse(delta("stop"))]
            )
        return Answer([sse(delta(content=content), delta("stop"))])

    async def request(nonce: str) -> None:
        received = await events_of(server, input=nonce)
        assert received[-1][1]["response"]["output"][0]["content"][0]["text"] == nonce

    backend.script = script
    for turn in range(20):
        pending = [asyncio.create_task(request(f"nonce {turn}.{number}")) for number in range(15)]
        await server.get("/models")
        for task in dice.sample(pending, 8):
            task.cancel()
        wait.set()
        ended = await asyncio.gather(*pending, return_exceptions=True)
        assert [one for one in ended if not isinstance(one, asyncio.CancelledError | None)] == []
        wait.clear()


@pytest.mark.parametrize("odd", ODD)
async def test_model_output_neither_ends_nor_begins_an_event(
    server: RunningServer, backend: ReplayBackend, odd: str
) -> None:
    call = {
        "index": 0,
        "id": odd,
        "function": {"name": "look", "arguments": json.dumps({"at": odd})},
    }
    backend.script = lambda request: Answer(
        [sse(delta(content=odd), delta(tool_calls=[call]), delta("tool_calls"))]
    )
    tools = [
        {
            "type": "function",
            "name": "look",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]
    received = await events_of(
        server, input="x", tools=tools, metadata={"k": odd}, user=odd, instructions=odd
    )

    assert [event["sequence_number"] for _, event in received] == list(range(len(received)))
    assert all(
        kind == event["type"] and re.fullmatch(r"[a-z_.]+", kind) for kind, event in received
    )
    message, called = received[-1][1]["response"]["output"]
    assert message["content"][0]["text"] == odd
    assert json.loads(called["arguments"]) == {"at": odd}
    assert received[-1][1]["response"]["metadata"] == {"k": odd}


@pytest.mark.parametrize("odd", ODD)
async def test_a_name_makes_no_header(backend: ReplayBackend, odd: str) -> None:
    async with serve(HttpBackend(odd, backend.url)) as server:
        reply = await state(
            server.url, post(json.dumps({"model": "m", "input": odd, "user": odd}).encode())
        )

    head = reply.partition(b"\r\n\r\n")[0].decode("latin-1")
    assert head.startswith("HTTP/1.1 200 ")
    assert all(re.match(r"[a-z-]+: ", line) for line in head.split("\r\n")[1:])


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_internal_error_reveals_nothing_to_the_client(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise ValueError(f"{object()} in /srv/antiphon/secret.py with sk-secret-backend-key")

    monkeypatch.setattr(Gateway, "create", broken)
    status, reply = await server.post(
        "/responses", json={"model": "m", "input": "x", "stream": stream}
    )

    assert status == 500
    assert reply["error"] == {
        "message": "The server had an error while processing your request.",
        "type": "server_error",
        "param": None,
        "code": "server_error",
    }


@pytest.mark.parametrize("status", [400, 404, 500, 200])
async def test_metadata_of_a_backend_is_not_forwarded_with_its_key(
    server: RunningServer, backend: ReplayBackend, status: int
) -> None:
    reported = json.dumps(
        {"error": {"message": "headers: Authorization: Bearer sk-secret-backend-key"}}
    ).encode()
    backend.script = lambda request: Answer([reported], JSON, status)
    got, reply = await server.post("/responses", json={"model": "m", "input": "x"})

    assert got >= 400
    assert "sk-secret-backend-key" not in json.dumps(reply)


async def test_how_long_a_delta_is_does_not_show_on_the_wire(
    server: RunningServer, backend: ReplayBackend
) -> None:
    words = ["a", "an", "the", "tide", "water", "lights", "seagull"]
    backend.script = lambda request: Answer(
        [sse(*(delta(content=word) for word in words), delta("stop"))]
    )
    padded = [
        event for kind, event in await events_of(server, input="x") if kind.endswith("text.delta")
    ]
    bare = await events_of(server, input="x", stream_options={"include_obfuscation": False})

    lengths = {len(event["delta"]) + len(event["obfuscation"]) for event in padded}
    assert [event["delta"] for event in padded] == words
    assert len(lengths) < len(words)
    assert not any("obfuscation" in event for _, event in bare)
