"""What a request to the Messages API says that no response request can: stop sequences, text that
the model continues, parameters of local models; and thinking, which travels in signatures.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.messages_requests import assistant, result, tool, user
from tests.support.messages_server import both, post, stream
from tests.support.messages_stream import fold
from tests.support.native import answering, call, message, thought
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve

TEXT = "Once upon a ti", "me. EN", "D and so on"
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}


def streaming(*words: str, **more: Any) -> Any:
    """A backend that says these words, whatever its request says about their end."""

    def script(request: dict[str, Any]) -> Answer:
        if request["stream"]:
            chunks = [*(delta(content=word) for word in words), delta("stop", **more)]
            return Answer([sse(chunk, done=False) for chunk in chunks])
        return Answer([completion("".join(words), **more)], JSON)

    return script


@asynccontextmanager
async def of_family(backend: ReplayBackend, dialect: str) -> AsyncIterator[RunningServer]:
    async with serve(
        HttpBackend("replay", backend.url), dialects={"replay": dialect}, settings=Settings()
    ) as one:
        yield one


# Stop sequences.


@pytest.mark.parametrize(
    ("sequences", "text", "found"),
    [
        (["END"], "Once upon a time. ", "END"),
        (["END and", "time"], "Once upon a ", "time"),
        (["never"], "Once upon a time. END and so on", None),
        (["Once"], "", "Once"),
        (["on!", "on"], "Once up", "on"),
    ],
)
async def test_a_text_ends_before_the_first_stop_sequence(
    server: RunningServer,
    backend: ReplayBackend,
    sequences: list[str],
    text: str,
    found: str | None,
) -> None:
    backend.script = streaming(*TEXT)
    answered = await both(server, stop_sequences=sequences)

    assert answered["stop_reason"] == ("stop_sequence" if found else "end_turn")
    assert answered["stop_sequence"] == found
    assert answered["content"] == ([{"type": "text", "text": text}] if text else [])


async def test_a_stop_sequence_ends_the_work_of_the_backend_and_the_tokens_are_estimated(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = streaming(*TEXT)
    answered = await post(server, stop_sequences=["END"])

    assert backend.requests[-1]["stream"] is True
    assert "stop" not in backend.requests[-1]
    assert answered.body["usage"]["input_tokens"] > 0
    assert answered.body["usage"]["output_tokens"] > 0


async def test_a_backend_with_a_responses_api_is_stopped_too() -> None:
    backend = ReplayBackend(answering([message("".join(TEXT))]), speaks_responses=True)
    native = {"replay": BackendOptions(api="responses")}
    async with backend.serve(), serve(HttpBackend("replay", backend.url), shares=native) as server:
        answered = await both(server, stop_sequences=["END"])

    assert answered["stop_sequence"] == "END"
    assert answered["content"] == [{"type": "text", "text": "Once upon a time. "}]


async def test_calls_after_a_stop_sequence_are_dropped(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = streaming(*TEXT, tool_calls=[CALL])
    answered = await both(server, stop_sequences=["END"], tools=[tool()])

    assert [block["type"] for block in answered["content"]] == ["text"]
    assert answered["stop_reason"] == "stop_sequence"


async def test_thinking_is_not_searched(server: RunningServer, backend: ReplayBackend) -> None:
    def script(request: dict[str, Any]) -> Answer:
        return Answer(
            [sse(delta(reasoning_content="Is END near?"), delta(content="No"), delta("stop"))]
        )

    backend.script = script
    thinking = {"type": "enabled", "budget_tokens": 1024}
    answered = await both(server, stop_sequences=["END"], thinking=thinking)

    assert [block["type"] for block in answered["content"]] == ["thinking", "text"]
    assert answered["stop_reason"] == "end_turn"


# Text that the model continues.


@pytest.mark.parametrize(
    ("dialect", "parameters"),
    [
        ("vllm", {"continue_final_message": True, "add_generation_prompt": False}),
        ("llamacpp", {}),
    ],
)
async def test_a_model_continues_the_text_that_ends_the_conversation(
    backend: ReplayBackend, dialect: str, parameters: dict[str, Any]
) -> None:
    async with of_family(backend, dialect) as server:
        answered = await post(server, messages=[user("A joke"), assistant("Why did ")])

    assert answered.status == 200, answered.body
    sent = backend.requests[-1]
    assert sent["messages"][-1] == {"role": "assistant", "content": "Why did"}
    assert {name: sent.get(name) for name in parameters} == parameters


async def test_a_model_that_cannot_continue_a_text_rejects_it(server: RunningServer) -> None:
    answered = await post(server, messages=[user("A joke"), assistant("Why did ")])

    assert answered.status == 400
    assert answered.error["message"].startswith("This model does not support assistant message")


# Parameters of local models.


async def test_top_k_reaches_a_backend_that_takes_it_and_no_other(backend: ReplayBackend) -> None:
    async with of_family(backend, "vllm") as server:
        assert (await post(server, top_k=5)).status == 200
    async with of_family(backend, "openai") as server:
        assert (await post(server, top_k=5)).status == 200

    assert [sent.get("top_k") for sent in backend.requests] == [5, None]


async def test_the_limit_of_another_model_is_lowered_to_what_the_window_has_room_for(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models[0]["max_model_len"] = 8192
    await server.get("/models")
    for wanted in (128_000, 100):
        assert (await post(server, max_tokens=wanted)).status == 200

    assert [sent["max_tokens"] for sent in backend.requests] == [8183, 100]


async def test_a_request_for_no_tokens_generates_nothing(
    server: RunningServer, backend: ReplayBackend
) -> None:
    answered = await both(server, max_tokens=0)

    assert (answered["content"], answered["stop_reason"]) == ([], "max_tokens")
    assert backend.requests == []


# Thinking.


async def test_thinking_comes_back_in_its_signature(backend: ReplayBackend) -> None:
    def script(request: dict[str, Any]) -> Answer:
        return Answer([sse(delta(reasoning="Let me see."), delta(content="4"), delta("stop"))])

    backend.script = script
    async with of_family(backend, "vllm") as server:
        thinking = {"type": "adaptive", "display": "omitted"}
        first = fold(await stream(server, thinking=thinking))
        block = first["content"][0]
        assert (block["type"], block["thinking"]) == ("thinking", "")
        assert block["signature"]

        history = [user("2+2"), assistant(*first["content"]), user("Sure?")]
        await stream(server, thinking=thinking, messages=history)

    [_, answer, _] = backend.requests[-1]["messages"]
    assert answer["reasoning"] == "Let me see."


@pytest.mark.parametrize("signature", ["", "EqQBCgIYAhIM", "antiphon.v1.not-ours"])
async def test_a_signature_of_another_server_is_dropped_and_never_refused(
    backend: ReplayBackend, signature: str
) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": signature}
    history = [user("a"), assistant(thought, {"type": "text", "text": "b"}), user("c")]
    settings = Settings(strict_seals=True)
    async with serve(HttpBackend("replay", backend.url), settings=settings) as server:
        answered = await post(server, messages=history)

    assert answered.status == 200, answered.body
    assert len(backend.requests[-1]["messages"]) == 3


# Backends with a Responses API of their own.


async def test_a_call_and_the_reasoning_before_it_cross_a_backend_with_a_responses_api() -> None:
    items = [thought("sealed", "I look it up."), call("f", '{"a": "b"}')]
    backend = ReplayBackend(answering(items, items, [message("Done.")]), speaks_responses=True)
    native = {"replay": BackendOptions(api="responses")}
    thinking = {"type": "enabled", "budget_tokens": 2048}
    async with backend.serve(), serve(HttpBackend("replay", backend.url), shares=native) as server:
        answered = await both(server, tools=[tool()], thinking=thinking)
        assert [block["type"] for block in answered["content"]] == ["thinking", "tool_use"]
        assert answered["stop_reason"] == "tool_use"

        answer = [block for block in answered["content"] if block["type"] == "tool_use"]
        history = [user("Hi"), assistant(*answer), user(result(answer[0]["id"], "c"))]
        last = await post(server, tools=[tool()], messages=history)

    assert last.body["content"] == [{"type": "text", "text": "Done."}]
    kinds = [item["type"] for item in backend.requests[-1]["input"]]
    assert kinds == ["message", "function_call", "function_call_output"]
    assert backend.requests[0]["reasoning"]["effort"] == "low"
