"""What a request to the Messages API says that no response request can: stop sequences, text that
the model continues, parameters of local models; and thinking, which travels in signatures.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.runs.refusals import MOST
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support import messages_backend as claude
from tests.support.messages_requests import assistant, result, tool, use, user
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


@pytest.mark.parametrize("dialect", ["openai", "vllm", "ollama"])
@pytest.mark.parametrize(
    ("sequences", "text", "found"),
    [
        (["END"], '{"a": "one ', "END"),
        (['"}'], '{"a": "one END two', '"}'),
        (["{"], "", "{"),
        (['"}!'], '{"a": "one END two"}', None),
    ],
)
async def test_a_stop_sequence_ends_json_of_a_schema_too(
    backend: ReplayBackend, dialect: str, sequences: list[str], text: str, found: str | None
) -> None:
    backend.script = streaming(*'{"a": "one END two"}')
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    fields = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    async with of_family(backend, dialect) as server:
        answered = await both(server, stop_sequences=sequences, **fields)
        offered = await both(server, stop_sequences=sequences, tools=[tool()], **fields)

    assert (answered["stop_sequence"], offered["stop_sequence"]) == (found, found)
    assert answered["content"] == ([{"type": "text", "text": text}] if text else [])
    assert offered["content"] == answered["content"]


@pytest.mark.parametrize(
    ("sequences", "text", "found"),
    [
        (["本"], "naïve 日", "本"),
        (["ï"], "na", "ï"),
        (["🌊"], "naïve 日本語 ", "🌊"),
        (["x"], "naïve 日本語 🌊", "x"),
    ],
)
async def test_a_sequence_of_one_letter_cuts_no_character(
    server: RunningServer,
    backend: ReplayBackend,
    sequences: list[str],
    text: str,
    found: str | None,
) -> None:
    """The backend splits its stream in the middle of characters."""
    chunks = [*(delta(content=letter) for letter in "naïve 日本語 🌊x"), delta("stop")]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    body = "".join([*lines, "data: [DONE]\n\n"]).encode()

    def script(request: dict[str, Any]) -> Answer:
        return Answer([body[place : place + 1] for place in range(len(body))])

    backend.script = script
    answered = await both(server, stop_sequences=sequences)

    assert (answered["stop_sequence"], answered["content"]) == (
        found,
        [{"type": "text", "text": text}],
    )


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
    omitted = []
    for family in ("vllm", "openai"):
        async with of_family(backend, family) as server:
            answered = await post(server, top_k=5)
        assert answered.status == 200
        omitted.append(answered.headers.get("antiphon-adjusted"))

    assert [sent.get("top_k") for sent in backend.requests] == [5, None]
    assert omitted == [None, "sampling.top_k"]


async def test_the_limit_of_another_model_is_lowered_to_what_the_window_has_room_for(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models[0]["max_model_len"] = 8192
    await server.get("/models")
    for wanted in (128_000, 100):
        assert (await post(server, max_tokens=wanted)).status == 200

    assert [sent["max_tokens"] for sent in backend.requests] == [8183, 100]


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 128000. This model supports at most 8000 completion tokens.",
        "`max_tokens` must be less than or equal to `8000`, the maximum value for `max_tokens`",
    ],
)
async def test_the_limit_of_another_model_is_lowered_to_what_the_backend_states(
    backend: ReplayBackend, words: str
) -> None:
    """Claude Code sends 32,000 or 128,000 to any model."""

    def script(request: dict[str, Any]) -> Answer:
        if request["max_completion_tokens"] > 8000:
            error = {"message": words, "param": "max_tokens", "code": "invalid_value"}
            return Answer([json.dumps({"error": error}).encode()], JSON, 400)
        return Answer([completion("Hi")], JSON)

    backend.script = script
    async with of_family(backend, "openai") as server:
        found = [await post(server, max_tokens=most) for most in (128_000, 32_000, 100)]
        response, _ = await server.post(
            "/responses", json={"model": "m", "input": "Hi", "max_output_tokens": 128_000}
        )

    assert [answered.status for answered in found] == [200] * 3
    sent = [request["max_completion_tokens"] for request in backend.requests]
    assert sent[:4] == [128_000, 8000, 8000, 100]
    assert response == 400  # its client knows this model


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"message": "Error code: 400 - Unsupported parameter: 'max_completion_tokens'"}},
        {
            "error": {
                "message": "Set max_tokens, which is 16384 at most, for this model.",
                "param": "max_completion_tokens",
                "code": "unsupported_parameter",
            }
        },
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "max_completion_tokens"],
                    "msg": "Set max_tokens, which is 16384 at most.",
                }
            ]
        },
    ],
)
async def test_a_refusal_of_the_parameter_itself_teaches_no_limit(
    backend: ReplayBackend, refusal: dict[str, Any]
) -> None:
    def script(request: dict[str, Any]) -> Answer:
        if "max_completion_tokens" in request:
            return Answer([json.dumps(refusal).encode()], JSON, 400)
        return Answer([completion("Hi")], JSON)

    backend.script = script
    async with of_family(backend, "openai") as server:
        found = [await post(server, max_tokens=128_000) for _ in range(2)]

    assert [answered.status for answered in found] == [200, 200]
    names = ("max_completion_tokens", "max_tokens")
    assert [[request.get(name) for name in names] for request in backend.requests] == [
        [128_000, None],
        [None, 128_000],
        [None, 128_000],
    ]


async def test_a_backend_that_always_states_a_lower_limit_receives_few_requests(
    backend: ReplayBackend,
) -> None:
    def script(request: dict[str, Any]) -> Answer:
        words = f"max_tokens must be at most {request['max_completion_tokens'] - 1}"
        return Answer([json.dumps({"error": {"message": words}}).encode()], JSON, 400)

    backend.script = script
    async with of_family(backend, "openai") as server:
        answered = await post(server, max_tokens=128_000)

    assert answered.status == 400
    stated = [request.get("max_completion_tokens") for request in backend.requests]
    assert stated[: MOST + 1] == [128_000 - number for number in range(MOST + 1)]
    assert len(stated) <= MOST + 2  # the last one in its plainest form


async def test_a_short_prompt_is_not_too_long_because_of_the_limit_of_another_model(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """Claude Code would compact the conversation."""
    prompt = 2000

    def script(request: dict[str, Any]) -> Answer:
        cap = request["max_tokens"]
        if cap + prompt <= 32_768:
            return Answer([completion("Hi")], JSON)
        words = (
            "This model's maximum context length is 32768 tokens. However, you requested "
            f"{cap + prompt} tokens ({prompt} in the messages, {cap} in the completion)."
        )
        return Answer([json.dumps({"error": {"message": words, "code": 400}}).encode()], JSON, 400)

    backend.script = script
    messages = [user("word " * prompt)]
    first, second = [await post(server, max_tokens=128_000, messages=messages) for _ in range(2)]
    prompt = 32_000
    last = await post(server, max_tokens=128_000, messages=messages)

    assert (first.status, second.status, last.status) == (200, 200, 400)
    sent = [request["max_tokens"] for request in backend.requests]
    assert (sent[0], len(sent)) == (128_000, 4)
    assert sent[1] == sent[2] == sent[3] > 28_000
    assert last.error["message"].startswith("prompt is too long")


LIMITS = {
    "messages": "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
    "responses": "Invalid 'max_output_tokens': expected a value <= 64000, but got 128000 instead.",
}
"""What a backend of each API says of a limit that is too high."""


@pytest.mark.parametrize("api", LIMITS)
async def test_the_limit_is_lowered_for_backends_of_any_api(api: Any) -> None:
    answers = {
        "messages": claude.answering([claude.text("Hi")]),
        "responses": answering([message("Hi")]),
    }
    name = "max_tokens" if api == "messages" else "max_output_tokens"

    def script(request: dict[str, Any]) -> Answer:
        if request[name] > 64_000:
            error = {"type": "invalid_request_error", "message": LIMITS[api]}
            return Answer([json.dumps({"type": "error", "error": error}).encode()], JSON, 400)
        return answers[api](request)

    backend = ReplayBackend(script, speaks_responses=api == "responses")
    options = {"b": BackendOptions(api=api)}
    async with backend.serve():
        http = HttpBackend("b", backend.url, speaks_messages=api == "messages")
        async with serve(http, shares=options) as server:
            found = [(await post(server, max_tokens=128_000)).status for _ in range(2)]

    assert found == [200, 200]
    assert [request[name] for request in backend.requests] == [128_000, 64_000, 64_000]


async def test_the_limit_of_another_model_is_lowered_to_what_the_backend_lists(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models[0]["top_provider"] = {"max_completion_tokens": 4096}
    await server.get("/models")
    assert (await post(server, max_tokens=128_000)).status == 200

    assert backend.requests[-1]["max_tokens"] == 4096


async def test_a_request_for_no_tokens_generates_nothing(
    server: RunningServer, backend: ReplayBackend
) -> None:
    answered = await both(server, max_tokens=0)

    assert (answered["content"], answered["stop_reason"]) == ([], "max_tokens")
    assert backend.requests == []


async def test_old_results_of_calls_are_removed_and_the_answer_reports_it(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = streaming("Done.")
    history = [user("Hi")]
    for number in range(5):
        history += [assistant(use(f"toolu_{number}")), user(result(f"toolu_{number}", "x" * 4000))]
    edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 4}}
    fields: dict[str, Any] = {
        "messages": history,
        "tools": [tool()],
        "context_management": {"edits": [edit]},
    }
    answered = await both(server, **fields)
    count = (await post(server, "/messages/count_tokens", **fields)).body

    [applied] = answered["context_management"]["applied_edits"]
    assert (applied["type"], applied["cleared_tool_uses"]) == (edit["type"], 2)
    results = [one["content"] for one in backend.requests[-1]["messages"] if one["role"] == "tool"]
    assert [len(one) == 4000 for one in results] == [False, False, True, True, True]
    original = count["context_management"]["original_input_tokens"]
    assert original - count["input_tokens"] == applied["cleared_input_tokens"] > 1900


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
