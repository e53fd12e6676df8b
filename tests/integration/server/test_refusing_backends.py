"""Backends that refuse what a client or a model wrote never see it, and the client reads its own words."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.application.backends import backends_of
from antiphon.config import BackendConfig, Settings
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import Served, serve

MODES = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
PING = {"type": "function", "name": "ping", "parameters": {"type": "object", "properties": {}}}
Request = dict[str, Any]


@asynccontextmanager
async def before(backend: ReplayBackend, dialect: str) -> AsyncIterator[Served]:
    """A server in front of a backend of this dialect."""
    line = await backends_of(Settings(backends=[BackendConfig(url=backend.url, dialect=dialect, api="chat")]), {})
    async with serve(*line.backends, shares=line.shares) as served:
        await served.engine.models.refresh()
        yield served


async def ask(served: Served, *, stream: bool = False, **body: Any) -> Request:
    """The response, or the error."""
    asked = {"model": "m", "input": "Hi", "stream": stream, **body}
    async with served.http.post(f"{served.url}/responses", json=asked) as reply:
        told = await reply.text()
    if not stream or not told.startswith("event:"):
        return json.loads(told)  # type: ignore[no-any-return]
    events = [json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: {")]
    return events[-1]["response"]  # type: ignore[no-any-return]


def hello(request: Request) -> Answer:
    return Answer([text("Hello")]) if request.get("stream") else Answer([completion("Hello")], JSON)


def refused(words: str) -> Answer:
    return Answer([json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()], JSON, 400)


def calls_in(request: Request) -> list[Request]:
    return [call for message in request["messages"] for call in message.get("tool_calls") or ()]


def writes(arguments: str, finish: str) -> Any:
    """A model that makes a call with these arguments, at a backend that refuses broken ones."""

    def script(request: Request) -> Answer:
        for call in calls_in(request):
            try:
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
            except (ValueError, AssertionError):
                return refused(f"invalid params, invalid function arguments json string, tool_call_id: {call['id']}")
        if request["messages"][-1]["role"] == "tool":
            return hello(request)
        call = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": arguments}}
        if request.get("stream"):
            return Answer([sse(delta(tool_calls=[{"index": 0, **call}]), delta(finish))])
        choice = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": finish}
        return Answer([json.dumps({"choices": [choice]}).encode()], JSON)

    return script


@MODES
@pytest.mark.parametrize("dialect", ["moonshot", "deepseek", "anthropic"])
@pytest.mark.parametrize(("arguments", "finish"), [('{"cmd": "ls -la /tm', "tool_calls"), ("ls -la", "length")])
async def test_a_thread_goes_on_after_a_call_that_the_model_broke(
    backend: ReplayBackend, dialect: str, arguments: str, finish: str, stream: bool
) -> None:
    backend.script = writes(arguments, finish)
    async with before(backend, dialect) as served:
        conversation = (await served.post("/conversations", json={}))[1]["id"]
        first = await ask(served, stream=stream, tools=[PING], conversation=conversation)
        call = first["output"][-1]
        assert call["arguments"] == arguments
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "no"}
        turns: list[Request] = [
            {"previous_response_id": first["id"], "input": [output]},
            {"input": [{"role": "user", "content": "Hi"}, *first["output"], output]},
            {"conversation": conversation, "input": [output]},
        ]
        for turn in turns:
            second = await ask(served, stream=stream, tools=[PING], **turn)
            assert second["status"] == "completed", second
            assert json.loads(calls_in(backend.requests[-1])[0]["function"]["arguments"]) == {"arguments": arguments}
        _, listed = await served.get(f"/conversations/{conversation}/items")
        stored: Any = listed["data"]
        assert arguments in [item.get("arguments") for item in stored]
