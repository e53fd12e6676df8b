"""The matrix of `docs/reference/fronts.md`: each front over each kind of backend, feature by
feature. Chat completions at a backend that takes them are forwarded: their bytes are not read.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from antiphon.build.models import options_of
from antiphon.config import ModelConfig
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support import messages_backend as claude
from tests.support import native
from tests.support.fake_ollama import FakeOllama
from tests.support.messages_requests import PNG
from tests.support.replay import JSON, Answer, ReplayBackend, Script, completion, delta, sse
from tests.support.server import RunningServer, serve

SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
LONG = "word " * 20_000
NEEDED = {
    "text": "Hi",
    "tools": '"look"',
    "images": PNG,
    "schema": '"place"',
    "thinking": "Hi",
    "long": LONG,
}
"""What a backend is sent."""
IMAGE = f"data:image/png;base64,{PNG}"


class Output(NamedTuple):
    """What a model answers, and what a client reads."""

    text: str = ""
    calls: Sequence[str] = ()
    """The arguments of each call."""
    thought: str = ""


# What the backends send.


def by_chat(output: Output) -> Script:
    calls = [
        {"index": n, "id": f"call_{n}", "type": "function"}
        | {"function": {"name": "look", "arguments": arguments}}
        for n, arguments in enumerate(output.calls)
    ]
    fields = {
        **({"tool_calls": calls} if calls else {}),
        **({"reasoning_content": output.thought} if output.thought else {}),
    }

    def script(request: dict[str, Any]) -> Answer:
        if request.get("stream"):
            chunk = delta(content=output.text or None, **fields)
            return Answer([sse(chunk, delta("tool_calls" if calls else "stop"))])
        return Answer([completion(output.text or None, **fields)], JSON)

    return script


def by_responses(output: Output) -> Script:
    calls = [native.call("look", one, f"call_{n}") for n, one in enumerate(output.calls)]
    thought = [native.thought("sealed", output.thought)] if output.thought else []
    return native.answering(
        [*thought, *([native.message(output.text)] if output.text else []), *calls]
    )


def by_messages(output: Output) -> Script:
    calls = [
        claude.tool_use("look", f"toolu_{n}", **json.loads(one))
        for n, one in enumerate(output.calls)
    ]
    thought = [claude.thinking(output.thought)] if output.thought else []
    return claude.answering(
        [*thought, *([claude.text(output.text)] if output.text else []), *calls]
    )


SCRIPTS: dict[str, Callable[[Output], Script]] = {
    "chat": by_chat,
    "responses": by_responses,
    "messages": by_messages,
}

# What the clients send, by feature.

FUNCTION = {"name": "look", "parameters": SCHEMA}
CHAT: dict[str, dict[str, Any]] = {
    "text": {},
    "long": {"messages": [{"role": "user", "content": LONG}]},
    "tools": {"tools": [{"type": "function", "function": FUNCTION}]},
    "images": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": IMAGE}}],
            }
        ]
    },
    "schema": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
    },
    "thinking": {"reasoning_effort": "high"},
    "stop": {"stop": "END"},
}
RESPONSES: dict[str, dict[str, Any]] = {
    "text": {},
    "long": {"input": LONG},
    "tools": {"tools": [{"type": "function", **FUNCTION}]},
    "images": {
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": IMAGE}]}]
    },
    "schema": {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
    "thinking": {"reasoning": {"effort": "high", "summary": "auto"}},
}
MESSAGES: dict[str, dict[str, Any]] = {
    "text": {},
    "long": {"messages": [{"role": "user", "content": LONG}]},
    "tools": {"tools": [{"name": "look", "input_schema": SCHEMA}]},
    "images": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                    }
                ],
            }
        ]
    },
    "schema": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "thinking": {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
    "stop": {"stop_sequences": ["END"]},
}
HI = [{"role": "user", "content": "Hi"}]
FRONTS: dict[str, tuple[str, dict[str, Any], dict[str, dict[str, Any]]]] = {
    "chat": ("/chat/completions", {"messages": HI}, CHAT),
    "responses": ("/responses", {"input": "Hi"}, RESPONSES),
    "messages": ("/messages", {"messages": HI, "max_tokens": 4_000}, MESSAGES),
}

# What the clients read.


def read(front: str, body: dict[str, Any]) -> Output:
    if front == "chat":
        message = body["choices"][0]["message"]
        calls = [one["function"]["arguments"] for one in message.get("tool_calls") or ()]
        return Output(message["content"] or "", calls, message.get("reasoning_content") or "")
    if front == "messages":
        blocks = body["content"]
        return Output(
            "".join(one["text"] for one in blocks if one["type"] == "text"),
            [json.dumps(one["input"]) for one in blocks if one["type"] == "tool_use"],
            "".join(one["thinking"] for one in blocks if one["type"] == "thinking"),
        )
    items = body["output"]
    thoughts = [one for one in items if one["type"] == "reasoning"]
    parts = [part for one in thoughts for part in (*one["summary"], *(one.get("content") or ()))]
    return Output(
        "".join(one["content"][0]["text"] for one in items if one["type"] == "message"),
        [one["arguments"] for one in items if one["type"] == "function_call"],
        "".join(part["text"] for part in parts),
    )


def check(found: Output, output: Output) -> None:
    """The client reads what the model sent."""
    assert (found.text, found.thought) == (output.text, output.thought)
    assert [json.loads(one) for one in found.calls] == [json.loads(one) for one in output.calls]


@asynccontextmanager
async def serving(kind: str, script: Script) -> AsyncIterator[tuple[RunningServer, ReplayBackend]]:
    backend = ReplayBackend(script, speaks_responses=kind == "responses")
    model = ModelConfig(name="m", chat_completions="run")
    api: Any = kind
    options = BackendOptions(api=api, configured=options_of([model], "b"))
    async with backend.serve():
        http = HttpBackend("b", backend.url, speaks_messages=kind == "messages")
        async with serve(http, shares={"b": options}) as server:
            yield server, backend


@asynccontextmanager
async def serving_ollama(
    output: Output, **faults: Any
) -> AsyncIterator[tuple[RunningServer, FakeOllama]]:
    calls = [
        {"id": f"call_{n}", "function": {"name": "look", "arguments": json.loads(one)}}
        for n, one in enumerate(output.calls)
    ]
    answer = {"content": output.text, "thinking": output.thought, "tool_calls": calls}
    backend = FakeOllama(
        capabilities=("completion", "tools", "thinking"), answers=[[answer]], **faults
    )
    model = ModelConfig(name="qwen3", chat_completions="run")
    options = BackendOptions(api="ollama", configured=options_of([model], "b"))
    async with (
        backend.serve() as url,
        serve(HttpBackend("b", url), shares={"b": options}) as server,
    ):
        yield server, backend


async def send(
    server: RunningServer, front: str, feature: str, model: str = "m"
) -> tuple[int, Any]:
    path, base, features = FRONTS[front]
    return await server.post(path, json={"model": model, **base, **features[feature]})


every_cell = pytest.mark.parametrize(
    ("front", "kind"), [(front, kind) for front in FRONTS for kind in SCRIPTS]
)
every_feature = pytest.mark.parametrize(
    ("feature", "output"),
    [
        ("text", Output("Hello")),
        ("tools", Output("Looking.", ['{"place": "A"}'])),
        ("tools", Output("", ['{"place": "A"}', '{"place": "B"}'])),
        ("images", Output("A cat.")),
        ("schema", Output('{"place":"A"}')),
        ("thinking", Output("Yes.", (), "I think.")),
        ("long", Output("Read.")),
    ],
    ids=["text", "tools", "parallel", "images", "schema", "thinking", "long"],
)


@every_cell
@every_feature
async def test_a_feature_reaches_the_model_and_its_answer_the_client(
    front: str, kind: str, feature: str, output: Output
) -> None:
    async with serving(kind, SCRIPTS[kind](output)) as (server, backend):
        status, body = await send(server, front, feature)

    assert status == 200, body
    check(read(front, body), output)
    assert NEEDED[feature] in json.dumps(backend.requests[-1])


@pytest.mark.parametrize("front", FRONTS)
@every_feature
async def test_a_feature_reaches_ollama_by_its_native_api(
    front: str, feature: str, output: Output
) -> None:
    async with serving_ollama(output) as (server, backend):
        status, body = await send(server, front, feature, "qwen3")

    assert status == 200, body
    check(read(front, body), output)
    assert NEEDED[feature] in json.dumps(backend.requests[-1])


@pytest.mark.parametrize("front", ["chat", "messages"])
@pytest.mark.parametrize("kind", SCRIPTS)
async def test_the_text_ends_before_a_stop_sequence(front: str, kind: str) -> None:
    async with serving(kind, SCRIPTS[kind](Output("One END two"))) as (server, _):
        status, body = await send(server, front, "stop")

    assert status == 200, body
    assert read(front, body).text == "One "


@pytest.mark.parametrize("front", ["chat", "messages"])
async def test_the_text_of_ollama_ends_before_a_stop_sequence(front: str) -> None:
    async with serving_ollama(Output("One END two")) as (server, _):
        status, body = await send(server, front, "stop", "qwen3")

    assert status == 200, body
    assert read(front, body).text == "One "


every_status = pytest.mark.parametrize(
    ("sent", "received"), [(400, (400,)), (500, (502, 503, 500, 529))]
)


@every_cell
@every_status
async def test_an_error_before_the_first_byte_has_a_status_and_a_message(
    front: str, kind: str, sent: int, received: Sequence[int]
) -> None:
    refusal = Answer([b'{"error": {"message": "No."}}'], JSON, sent)
    async with serving(kind, lambda _: refusal) as (server, _):
        status, body = await send(server, front, "text")

    assert status in received, body
    assert body["error"]["message"]


@pytest.mark.parametrize("front", FRONTS)
@every_status
async def test_an_error_of_ollama_before_the_first_byte_has_a_status_and_a_message(
    front: str, sent: int, received: Sequence[int]
) -> None:
    async with serving_ollama(Output(), refuses=sent) as (server, _):
        status, body = await send(server, front, "text", "qwen3")

    assert status in received, body
    assert body["error"]["message"]


@every_cell
async def test_a_stream_that_breaks_off_ends_with_an_error(front: str, kind: str) -> None:
    whole = SCRIPTS[kind](Output("One two three four"))

    def cut(request: dict[str, Any]) -> Answer:
        answer = whole(request | {"stream": True})
        text = b"".join(answer.parts)
        return Answer([text[: text.index(b"four") - 1]])

    async with serving(kind, cut) as (server, _):
        expect_a_failed_stream(await streamed(server, front))


@pytest.mark.parametrize("front", FRONTS)
async def test_a_stream_of_ollama_that_breaks_off_ends_with_an_error(front: str) -> None:
    async with serving_ollama(Output("One two"), is_cut=True) as (server, _):
        expect_a_failed_stream(await streamed(server, front, "qwen3"))


async def streamed(server: RunningServer, front: str, model: str = "m") -> str:
    """A stream as its client receives it."""
    path, base, _ = FRONTS[front]
    body = {"model": model, "stream": True, **base}
    async with server.http.post(server.url + path, json=body) as reply:
        return await reply.text()


def expect_a_failed_stream(body: str) -> None:
    assert '"error"' in body
    assert "[DONE]" not in body
    assert "message_stop" not in body
