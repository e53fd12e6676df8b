"""What others have been attacked by, and what becomes of it here (threats 8, 12, 27, 31 and 40)."""

import asyncio
import json
import random
import re
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.upstream.http import HttpBackend
from tests.support.raw import post, say
from tests.support.replay import JSON, Answer, ReplayBackend, delta, echo, sse
from tests.support.server import Served, serve

STEERING = ("api_base", "base_url", "api_key", "extra_headers", "extra_body", "organization", "custom_llm_provider")
ODD = [
    *("a\r\ndata: {}\r\n\r\nevent: x", "a\n\nb", "a\rb", "a\u2028\u2029\x85\x0b\x0cb", "\x00", "id: 1\nretry: 1"),
    "data: [DONE]",
]


async def events_of(served: Served, **asked: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, as a strict reader sees them: each of exactly two lines."""
    async with served.http.post(f"{served.url}/responses", json={"model": "m", "stream": True, **asked}) as response:
        frames = (await response.read()).decode().split("\n\n")
    assert frames.pop() == ""
    lines = [frame.split("\n") for frame in frames if not frame.startswith(":")]
    assert all(len(pair) == 2 and pair[0].startswith("event: ") and pair[1].startswith("data: ") for pair in lines)
    return [(pair[0][7:], json.loads(pair[1][6:])) for pair in lines]


@pytest.mark.parametrize("name", STEERING)
@pytest.mark.parametrize("path", ["/responses", "/chat/completions", "/embeddings", "/responses/input_tokens"])
async def test_a_request_never_chooses_where_it_goes_or_with_which_key(
    served: Served, backend: ReplayBackend, name: str, path: str
) -> None:
    async with ReplayBackend(echo).serve() as canary:
        value: Any = {"authorization": "Bearer stolen", "x-api-base": canary.url} if "extra" in name else canary.url
        body = {"model": "m", "input": "x", "messages": [{"role": "user", "content": "x"}], name: value}
        body.pop("input" if "chat" in path else "messages")
        headers = {"x-api-base": canary.url, "x-forwarded-host": canary.url, "openai-organization": canary.url}
        await served.post(f"{path}?{name}={canary.url}", json=body, headers=headers)

    assert canary.requests == []
    assert all(b"\r\nauthorization: bearer sk-secret-backend-key\r\n" in head.lower() for head in backend.heads)
    assert not any(b"stolen" in head or canary.url.encode() in head for head in backend.heads)


@pytest.mark.wide
async def test_after_cancelled_requests_everyone_still_hears_his_own(served: Served, backend: ReplayBackend) -> None:
    dice = random.Random(26)
    wait = asyncio.Event()

    def script(request: dict[str, Any]) -> Answer:
        said = request["messages"][-1]["content"]
        if dice.random() < 0.5:
            return Answer([sse(delta(content=said), done=False)], wait=wait, rest=[sse(delta("stop"))])
        return Answer([sse(delta(content=said), delta("stop"))])

    async def ask(nonce: str) -> None:
        heard = await events_of(served, input=nonce)
        assert heard[-1][1]["response"]["output"][0]["content"][0]["text"] == nonce

    backend.script = script
    for turn in range(20):
        asked = [asyncio.create_task(ask(f"nonce {turn}.{number}")) for number in range(15)]
        await served.get("/models")
        for task in dice.sample(asked, 8):
            task.cancel()
        wait.set()
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert [one for one in ended if not isinstance(one, asyncio.CancelledError | None)] == []
        wait.clear()


@pytest.mark.parametrize("odd", ODD)
async def test_what_a_model_says_ends_no_event_and_begins_none(
    served: Served, backend: ReplayBackend, odd: str
) -> None:
    call = {"index": 0, "id": odd, "function": {"name": "look", "arguments": json.dumps({"at": odd})}}
    backend.script = lambda request: Answer([sse(delta(content=odd), delta(tool_calls=[call]), delta("tool_calls"))])
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}]
    heard = await events_of(served, input="x", tools=tools, metadata={"k": odd}, user=odd, instructions=odd)

    assert [event["sequence_number"] for _, event in heard] == list(range(len(heard)))
    assert all(kind == event["type"] and re.fullmatch(r"[a-z_.]+", kind) for kind, event in heard)
    message, called = heard[-1][1]["response"]["output"]
    assert message["content"][0]["text"] == odd
    assert json.loads(called["arguments"]) == {"at": odd}
    assert heard[-1][1]["response"]["metadata"] == {"k": odd}


@pytest.mark.parametrize("odd", ODD)
async def test_a_name_makes_no_header(backend: ReplayBackend, odd: str) -> None:
    async with serve(HttpBackend(odd, backend.url)) as served:
        reply = await say(served.url, post(json.dumps({"model": "m", "input": odd, "user": odd}).encode()))

    head = reply.partition(b"\r\n\r\n")[0].decode("latin-1")
    assert head.startswith("HTTP/1.1 200 ")
    assert all(re.match(r"[a-z-]+: ", line) for line in head.split("\r\n")[1:])


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_fault_of_ours_tells_nothing_of_itself(
    served: Served, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise ValueError(f"{object()} in /srv/antiphon/secret.py with sk-secret-backend-key")

    monkeypatch.setattr(Gateway, "create", broken)
    status, reply = await served.post("/responses", json={"model": "m", "input": "x", "stream": stream})

    assert status == 500
    assert reply["error"] == {
        "message": "The server had an error while processing your request.",
        "type": "server_error",
        "param": None,
        "code": "server_error",
    }


@pytest.mark.parametrize("status", [400, 404, 500, 200])
async def test_what_a_backend_tells_of_itself_is_not_passed_on_with_its_key(
    served: Served, backend: ReplayBackend, status: int
) -> None:
    told = json.dumps({"error": {"message": "headers: Authorization: Bearer sk-secret-backend-key"}}).encode()
    backend.script = lambda request: Answer([told], JSON, status)
    got, reply = await served.post("/responses", json={"model": "m", "input": "x"})

    assert got >= 400
    assert "sk-secret-backend-key" not in json.dumps(reply)


async def test_how_long_a_delta_is_does_not_show_on_the_wire(served: Served, backend: ReplayBackend) -> None:
    words = ["a", "an", "the", "tide", "water", "lights", "seagull"]
    backend.script = lambda request: Answer([sse(*(delta(content=word) for word in words), delta("stop"))])
    padded = [event for kind, event in await events_of(served, input="x") if kind.endswith("text.delta")]
    bare = await events_of(served, input="x", stream_options={"include_obfuscation": False})

    lengths = {len(event["delta"]) + len(event["obfuscation"]) for event in padded}
    assert [event["delta"] for event in padded] == words
    assert len(lengths) < len(words)
    assert not any("obfuscation" in event for _, event in bare)
