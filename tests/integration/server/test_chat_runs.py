"""Chat completions over a run: for backends that answer only the Responses API, and for hosted
tools. The faults of other servers are named by their threads.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from antiphon.build.models import options_of
from antiphon.config import ModelConfig
from antiphon.storage.open import open_store
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.keys import bearing, issue
from tests.support.native import answering, call, frames, message, response, thought
from tests.support.replay import JSON, Answer, ReplayBackend, Script, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.tools import MCP, Servers, Web
from tests.support.waiting import eventually

HI: Any = [{"role": "user", "content": "Hi"}]
FUNCTION: Any = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
REFUSED = {
    "message": "Function tools with reasoning_effort are not supported for m in "
    "/v1/chat/completions. To use function tools, use /v1/responses.",
    "type": "invalid_request_error",
    "param": "reasoning_effort",
    "code": None,
}


def refusing(
    items: Sequence[dict[str, Any]] = (), error: dict[str, Any] | None = None, status: int = 400
) -> Script:
    """Refuse chat completions, and answer the Responses API with these items."""
    answer = answering(items)

    def script(request: dict[str, Any]) -> Answer:
        if "messages" in request:
            return Answer([json.dumps({"error": error or REFUSED}).encode()], JSON, status)
        return answer(request)

    return script


@asynccontextmanager
async def serving(
    script: Script, *models: ModelConfig, api: Any = "responses", **options: Any
) -> AsyncIterator[tuple[RunningServer, ReplayBackend]]:
    backend = ReplayBackend(script, speaks_responses=True)
    shares = {"n": BackendOptions(api=api, configured=options_of(models, "n"))}
    async with (
        backend.serve(),
        serve(HttpBackend("n", backend.url), shares=shares, **options) as server,
    ):
        yield server, backend


RUN = ModelConfig(name="m", chat_completions="run")


async def chunks(server: RunningServer, **body: Any) -> list[dict[str, Any]]:
    """The chunks of a stream, which ends with `[DONE]`."""
    async with server.http.post(
        server.url + "/chat/completions", json={"model": "m", "messages": HI, "stream": True} | body
    ) as reply:
        assert reply.status == 200, await reply.text()
        lines = (await reply.read()).split(b"\n\n")
    data = [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]
    assert data[-1] == b"[DONE]", data[-1]
    return [json.loads(one) for one in data[:-1]]


def texts(found: Sequence[dict[str, Any]], index: int = 0) -> str:
    choices = [one["choices"][0] for one in found if one["choices"]]
    return "".join(
        choice["delta"].get("content") or "" for choice in choices if choice["index"] == index
    )


async def test_litellm_33221_a_refusal_is_learned_and_the_same_request_runs() -> None:
    async with serving(refusing([call("look", '{"a":1}', "call_1")])) as (server, backend):
        for _ in range(2):
            answer = await server.sdk.chat.completions.create(
                model="m", messages=HI, tools=[FUNCTION], reasoning_effort="low"
            )

        choice = answer.choices[0]
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content is None
        assert choice.message.tool_calls
        assert choice.message.tool_calls[0].to_dict() == {
            "id": "call_1",
            "type": "function",
            "function": {"name": "look", "arguments": '{"a":1}'},
        }
        kinds = ["messages" in request for request in backend.requests]
        assert kinds == [True, False, False]
        sent = backend.requests[-1]
        assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
        assert sent["tools"][0].get("strict") is not True


async def test_the_request_of_a_chat_completion_finds_its_response() -> None:
    async with serving(refusing([message("Hello")])) as (server, _):
        for _ in range(2):
            replied = await server.sdk.chat.completions.with_raw_response.create(
                model="m", messages=HI, tools=[FUNCTION]
            )
            line = f"/responses?q={replied.headers['x-request-id']}"
            _, page = await eventually(lambda: server.get(line), lambda found: found[1]["data"])  # noqa: B023 - it is awaited here
            (one,) = page["data"]
            assert (one["status"], one["output"]) == ("completed", None)


async def test_a_learned_refusal_is_listed_with_the_words_of_the_backend() -> None:
    async with serving(refusing([message("Hello")])) as (server, _):
        await server.sdk.chat.completions.create(model="m", messages=HI, tools=[FUNCTION])
        async with server.http.get(server.url.removesuffix("/v1") + "/status") as reply:
            status = await reply.json()

    (lesson,) = status["backends"][0]["lessons"]
    assert lesson["name"] == "chat_completions.tools"
    assert "use /v1/responses" in lesson["said"]


async def test_litellm_16810_a_request_that_the_backend_takes_is_forwarded_as_before() -> None:
    async with serving(lambda _: Answer([completion("Hello")], JSON)) as (server, backend):
        async with server.http.post(
            server.url + "/chat/completions", json={"model": "m", "messages": HI, "n": 2}
        ) as reply:
            assert await reply.read() == completion("Hello")
            assert "antiphon-chat" not in reply.headers

        assert backend.requests == [{"model": "m", "messages": HI, "n": 2}]


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_chat_completions_is_reached_by_its_responses_api(
    status: int,
) -> None:
    script = refusing([message("Hello")], {"message": "Not found"}, status)
    async with serving(script) as (server, backend):
        for _ in range(2):
            answer = await server.sdk.chat.completions.create(model="m", messages=HI)

        assert answer.choices[0].message.content == "Hello"
        assert ["messages" in request for request in backend.requests] == [True, False, False]


async def test_another_refusal_is_the_clients() -> None:
    error = {"message": "Too hot.", "param": "temperature", "code": "invalid_value"}
    async with serving(refusing(error=error)) as (server, backend):
        with pytest.raises(openai.BadRequestError) as caught:
            await server.sdk.chat.completions.create(model="m", messages=HI)

        assert caught.value.param == "temperature"
        assert len(backend.requests) == 1


async def test_litellm_16810_a_setting_forces_either_path() -> None:
    async with (
        serving(refusing([message("Hello")]), RUN) as (server, backend),
        server.http.post(
            server.url + "/chat/completions", json={"model": "m", "messages": HI}
        ) as reply,
    ):
        assert reply.headers["antiphon-chat"] == "run"
        assert "input" in backend.requests[0]
    forward = ModelConfig(name="m", chat_completions="forward")
    async with serving(refusing([message("Hello")]), forward) as (server, backend):
        for _ in range(2):
            with pytest.raises(openai.BadRequestError):
                await server.sdk.chat.completions.create(model="m", messages=HI, tools=[FUNCTION])
        assert ["messages" in request for request in backend.requests] == [True, True]


async def test_litellm_41109_text_is_sent_once_next_to_a_call() -> None:
    items = [message("Let me look."), call("look", "{}", "call_1")]
    async with serving(answering(items), RUN) as (server, _):
        found = await chunks(server, tools=[FUNCTION])
        plain = await server.sdk.chat.completions.create(model="m", messages=HI, tools=[FUNCTION])

    assert texts(found) == plain.choices[0].message.content == "Let me look."
    calls = [
        one["choices"][0]["delta"]["tool_calls"][0]
        for one in found
        if one["choices"] and "tool_calls" in one["choices"][0]["delta"]
    ]
    assert [one["index"] for one in calls] == [0] * len(calls)
    assert "".join(one["function"].get("arguments", "") for one in calls) == "{}"


async def test_two_messages_are_joined_by_a_blank_line() -> None:
    items = [message("One.", "msg_1"), message("Two.", "msg_2")]
    async with serving(answering(items), RUN) as (server, _):
        found = await chunks(server)
        plain = await server.sdk.chat.completions.create(model="m", messages=HI)

    assert texts(found) == plain.choices[0].message.content == "One.\n\nTwo."


@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
async def test_litellm_pr_37710_an_incomplete_answer_has_its_reason_and_usage(reason: str) -> None:
    cut = response(
        message("Once", status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": reason},
    )
    async with serving(lambda _: Answer([json.dumps(cut).encode()], JSON), RUN) as (server, _):
        plain = await server.sdk.chat.completions.create(model="m", messages=HI)

    expected = "length" if reason == "max_output_tokens" else reason
    assert plain.choices[0].finish_reason == expected
    assert plain.usage is not None
    assert (plain.usage.prompt_tokens, plain.usage.completion_tokens) == (7, 5)


async def test_litellm_pr_37710_an_empty_answer_is_one_choice() -> None:
    async with serving(answering([]), RUN) as (server, _):
        plain = await server.post("/chat/completions", json={"model": "m", "messages": HI})

    choices: Any = plain[1]["choices"]
    assert (plain[0], len(choices), choices[0]["message"]["content"]) == (200, 1, "")


async def test_litellm_22448_reasoning_is_restored_by_the_id_of_a_call() -> None:
    answers = iter([[thought("sealed-up"), call("look", "{}", "call_1")], [message("Done.")]])

    def script(request: dict[str, Any]) -> Answer:
        return answering(next(answers))(request)

    async with serving(script, RUN) as (server, backend):
        first = await server.sdk.chat.completions.create(model="m", messages=HI, tools=[FUNCTION])
        calls = first.choices[0].message.tool_calls
        assert calls
        called = {
            "role": "assistant",
            "content": None,
            "tool_calls": [one.to_dict() for one in calls],
        }
        result = {"role": "tool", "tool_call_id": "call_1", "content": "A cat."}
        second = await server.sdk.chat.completions.create(
            model="m",
            messages=[*HI, called, result],
            tools=[FUNCTION],
        )

    assert second.choices[0].message.content == "Done."
    sent = backend.requests[-1]["input"]
    assert [item["type"] for item in sent] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert sent[1]["encrypted_content"] == "sealed-up"
    assert sent[3]["output"] == "A cat."


async def test_litellm_40364_reasoning_that_a_client_returns_goes_back_to_its_backend() -> None:
    answers = iter([[thought("sealed-up"), message("Yes.")], [message("Done.")]])

    def script(request: dict[str, Any]) -> Answer:
        return answering(next(answers))(request)

    async with serving(script, RUN) as (server, backend):
        first = await server.sdk.chat.completions.create(model="m", messages=HI)
        returned = first.choices[0].message.to_dict()
        await server.post(
            "/chat/completions",
            json={"model": "m", "messages": [*HI, returned, *HI]},
        )

    assert [item.get("encrypted_content") for item in backend.requests[-1]["input"]] == [
        None,
        "sealed-up",
        None,
        None,
    ]


async def test_litellm_12432_summaries_of_reasoning_stream() -> None:
    items = [thought("sealed-up", "I think."), message("Yes.")]
    async with serving(answering(items), RUN) as (server, _):
        found = await chunks(server, reasoning_effort="high")

    deltas = [one["choices"][0]["delta"] for one in found if one["choices"]]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "I think."


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}], "A\nB"),
        (
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
            [{"type": "input_image", "image_url": "data:image/png;base64,AA=="}],
        ),
    ],
)
async def test_litellm_18201_17507_the_content_of_a_tool_message_is_translated(
    content: Any, output: Any
) -> None:
    called = {
        "role": "assistant",
        "tool_calls": [
            {"id": "c" * 70, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    }
    result = {"role": "tool", "tool_call_id": "c" * 70, "content": content}
    async with serving(answering([message("Done.")]), RUN) as (server, backend):
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": [*HI, called, result]}
        )

    assert status == 200, body
    sent = backend.requests[0]["input"][-1]
    found = sent["output"]
    if isinstance(found, list):
        found = [{name: one[name] for name in ("type", "image_url")} for one in found]
    assert found == output
    assert len(sent["call_id"]) <= 64


async def test_litellm_16844_the_format_of_an_answer_is_a_format() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}
    async with serving(answering([message('{"a":"b"}')]), RUN) as (server, backend):
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": HI, "response_format": wanted}
        )

    assert status == 200, body
    sent = backend.requests[0]
    assert sent["text"]["format"]["schema"] == schema
    assert "metadata" not in sent


async def test_copilot_sdk_1081_litellm_8450_a_stream_ends_with_its_reason_then_its_usage() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, _):
        found = await chunks(server, stream_options={"include_usage": True})

    assert found[0]["choices"][0]["delta"]["role"] == "assistant"
    assert found[-2]["choices"][0]["finish_reason"] == "stop"
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["total_tokens"] == 12
    assert all(one["usage"] is None for one in found[:-1])
    assert len({(one["id"], one["created"], one["model"]) for one in found}) == 1


async def test_opencodex_5280_stop_is_applied_here_and_not_sent() -> None:
    async with serving(answering([message("One END two")]), RUN) as (server, backend):
        found = await chunks(server, stop="END")

    assert texts(found) == "One "
    assert found[-1]["choices"][0]["finish_reason"] == "stop"
    assert "stop" not in backend.requests[0]


async def test_a_limit_below_that_of_a_response_is_lifted() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, backend):
        await server.sdk.chat.completions.create(model="m", messages=HI, max_tokens=1)

    assert backend.requests[0]["max_output_tokens"] == 16


async def test_n_answers_are_n_runs() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, backend):
        plain = await server.sdk.chat.completions.create(model="m", messages=HI, n=3)
        found = await chunks(server, n=2, stream_options={"include_usage": True})

    assert [one.message.content for one in plain.choices] == ["Hello"] * 3
    assert plain.usage is not None
    assert plain.usage.prompt_tokens == 21
    assert [texts(found, index) for index in (0, 1)] == ["Hello", "Hello"]
    assert found[-1]["usage"]["prompt_tokens"] == 14
    assert len(backend.requests) == 5


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"n": 9}, "n"),
        ({"audio": {"voice": "a", "format": "wav"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"logit_bias": {"1": 1}}, "logit_bias"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, None),
        ({"messages": [{"role": "critic", "content": "x"}]}, "messages[0].role"),
        ({"messages": [*HI, {"role": "user", "content": None}]}, "messages[1].content"),
        ({"tools": [{"type": "local_shell"}]}, "tools[0].type"),
        ({"tools": [{**MCP, "require_approval": "always"}]}, "tools[0].require_approval"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"reasoning_effort": "huge"}, "reasoning_effort"),
        ({"response_format": {"type": "yaml"}}, None),
    ],
)
async def test_what_cannot_cross_is_refused_by_the_clients_name(body: Any, param: str) -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, backend):
        status, answer = await server.post(
            "/chat/completions", json={"model": "m", "messages": HI} | body
        )

    assert status == 400, answer
    error: Any = answer["error"]
    assert param is None or error["param"] == param, error
    assert not backend.requests


CODE = {"type": "code_interpreter", "container": {"type": "auto"}}


@pytest.mark.parametrize("tool", [MCP, CODE])
async def test_several_answers_with_a_tool_that_changes_something_are_refused(tool: Any) -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, backend):
        status, answer = await server.post(
            "/chat/completions", json={"model": "m", "messages": HI, "tools": [tool], "n": 2}
        )

    assert status == 400, answer
    error: Any = answer["error"]
    assert (error["param"], error["code"]) == ("n", "unsupported_parameter")
    assert tool["type"] in error["message"]
    assert not backend.requests


async def test_several_answers_can_search() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, _):
        answer = await server.sdk.chat.completions.create(
            model="m", messages=HI, web_search_options={}, n=2
        )

    assert len(answer.choices) == 2


async def test_several_answers_of_a_preset_with_such_a_tool_are_refused() -> None:
    dice = ModelConfig(name="m-dice", base="m", hosted_tools=[MCP])
    script = answering([message("Hello")])
    async with serving(script, dice, api="chat") as (server, backend):
        server.parts.run.toolset = Toolset(mcp=Servers())
        status, answer = await server.post(
            "/chat/completions", json={"model": "m-dice", "messages": HI, "n": 2}
        )

    assert status == 400, answer
    error: Any = answer["error"]
    assert error["param"] == "n"
    assert not backend.requests


async def test_an_error_in_a_stream_ends_it_without_done() -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "Boom."})
    async with (
        serving(lambda _: Answer([json.dumps(failed).encode()], JSON), RUN) as (server, _),
        server.http.post(
            server.url + "/chat/completions", json={"model": "m", "messages": HI, "stream": True}
        ) as reply,
    ):
        body = await reply.read()

    assert b"[DONE]" not in body
    assert b'"error"' in body


async def test_a_preset_runs_its_tools_for_a_client_of_chat() -> None:
    rolled = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}

    def script(request: dict[str, Any]) -> Answer:
        if any(one["role"] == "tool" for one in request["messages"]):
            return Answer([completion("Five.")], JSON)
        return Answer([completion(None, tool_calls=[rolled])], JSON)

    dice = ModelConfig(name="m-dice", base="m", hosted_tools=[MCP])
    async with serving(script, dice, api="chat") as (server, backend):
        server.parts.run.toolset = Toolset(mcp=Servers())
        answer = await server.sdk.chat.completions.create(model="m-dice", messages=HI)

    assert answer.choices[0].message.content == "Five."
    assert answer.choices[0].message.tool_calls is None
    assert len(backend.requests) == 2


async def test_a_stored_completion_of_a_run_is_the_one_that_was_sent() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, _):
        sent = await server.sdk.chat.completions.create(
            model="m", messages=HI, store=True, metadata={"a": "b"}
        )
        stored = await server.sdk.chat.completions.retrieve(sent.id)

    assert stored.choices[0].message.content == "Hello"
    assert stored.metadata == {"a": "b"}  # type: ignore[attr-defined]


UNKNOWN = {"type": "quantum_call", "id": "qc_1", "status": "completed"}
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "status": "completed",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
}


async def failing(server: RunningServer, *, stream: bool) -> tuple[int, Any]:
    """The status of an answer, and the error in it."""
    body = {"model": "m", "messages": HI, "stream": stream}
    async with server.http.post(server.url + "/chat/completions", json=body) as reply:
        text = await reply.text()
    assert "[DONE]" not in text
    last = text.strip().split("\n\n")[-1].removeprefix("data: ")
    return reply.status, json.loads(last)["error"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("items", [[UNKNOWN], [COMPUTER], [message("Let me look."), COMPUTER]])
async def test_litellm_20905_an_item_that_a_completion_cannot_contain_is_an_error(
    items: Any, stream: bool
) -> None:
    async with serving(answering(items), RUN) as (server, backend):
        status, error = await failing(server, stream=stream)

    assert status == (200 if stream else 502), error
    assert len(backend.requests) == 1
    assert items[-1]["type"] in error["message"]


async def test_litellm_20905_a_text_next_to_an_unknown_item_arrives() -> None:
    async with serving(answering([UNKNOWN, message("Hello")]), RUN) as (server, _):
        found = await chunks(server)
        plain = await server.sdk.chat.completions.create(model="m", messages=HI)

    assert texts(found) == plain.choices[0].message.content == "Hello"
    assert plain.choices[0].finish_reason == found[-1]["choices"][0]["finish_reason"] == "stop"


async def test_a_legacy_function_is_called_and_answered() -> None:
    async with serving(answering([call("look", "{}", "call_1")]), RUN) as (server, backend):
        status, body = await server.post(
            "/chat/completions",
            json={"model": "m", "messages": HI, "functions": [FUNCTION["function"]]},
        )
        assert status == 200, body
        choice: Any = body["choices"][0]  # type: ignore[index]
        result = {"role": "function", "name": "look", "content": "A cat."}
        await server.post(
            "/chat/completions",
            json={"model": "m", "messages": [*HI, choice["message"], result]},
        )

    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "look", "arguments": "{}"}
    sent = backend.requests[-1]["input"]
    assert sent[-1]["output"] == "A cat."
    assert sent[-1]["call_id"] == sent[-2]["call_id"]


async def test_if_the_backend_with_chat_completions_is_down_the_other_answers() -> None:
    async with (
        ReplayBackend(
            lambda _: Answer([b'{"error": {"message": "Down."}}'], JSON, 500)
        ).serve() as down,
        ReplayBackend(refusing([message("Hello")]), speaks_responses=True).serve() as native,
    ):
        shares = {
            "a": BackendOptions(),
            "b": BackendOptions(api="responses", configured=options_of([RUN], "b")),
        }
        backends = HttpBackend("a", down.url), HttpBackend("b", native.url)
        async with serve(*backends, shares=shares) as server:
            await server.parts.models.refresh()
            for _ in range(3):
                answer = await server.sdk.chat.completions.create(model="m", messages=HI)
                assert answer.choices[0].message.content == "Hello"

        assert {"messages" in request for request in native.requests} == {False}


async def test_a_prefill_that_the_backend_cannot_continue_is_refused() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, _):
        status, body = await server.post(
            "/chat/completions",
            json={"model": "m", "messages": [*HI, {"role": "assistant", "content": "Once"}]},
        )

    assert status == 400, body


async def test_a_seed_that_the_backend_lacks_is_omitted_and_named() -> None:
    async with serving(answering([message("Hello")]), RUN) as (server, backend):
        body = {"model": "m", "messages": HI, "seed": 1}
        async with server.http.post(server.url + "/chat/completions", json=body) as reply:
            assert reply.status == 200, await reply.text()

    assert reply.headers["antiphon-adjusted"] == "sampling.seed"
    assert "seed" not in backend.requests[0]


async def test_all_answers_count_for_a_key() -> None:
    store = await open_store("sqlite://")
    key = await issue(store)
    async with serving(answering([message("Hello")]), RUN, store=store) as (server, _):
        async with server.http.post(
            server.url + "/chat/completions",
            json={"model": "m", "messages": HI, "n": 3},
            headers=bearing(key),
        ) as reply:
            assert reply.status == 200
        server.http.headers.update(bearing(key))

        async def counted() -> bool:
            _, usage = await server.get("/usage")
            rows: Any = usage["data"]
            return bool(rows) and rows[0]["input_tokens"] == 21

        await eventually(counted)


async def test_probabilities_of_tokens_have_the_form_of_this_api() -> None:
    probable = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}
    item = message("Hi")
    item["content"][0]["logprobs"] = [probable]
    async with serving(answering([item]), RUN) as (server, backend):
        plain = await server.sdk.chat.completions.create(
            model="m", messages=HI, logprobs=True, top_logprobs=1
        )

    assert backend.requests[0]["top_logprobs"] == 1
    assert plain.choices[0].logprobs is not None
    assert plain.choices[0].logprobs.content is not None
    assert plain.choices[0].logprobs.content[0].to_dict() == probable


async def test_litellm_27276_a_custom_tool_is_called_with_text() -> None:
    item = {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "sql",
        "input": "SELECT 1",
    }
    grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "S.*"}}
    tool: Any = {"type": "custom", "custom": {"name": "sql", "format": grammar}}
    async with serving(answering([item]), RUN) as (server, backend):
        plain = await server.sdk.chat.completions.create(model="m", messages=HI, tools=[tool])
        found = await chunks(server, tools=[tool])

    assert plain.choices[0].message.tool_calls is not None
    call_of_sql = {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    assert plain.choices[0].message.tool_calls[0].to_dict() == call_of_sql
    assert backend.requests[0]["tools"][0]["format"] == {"type": "grammar", **grammar["grammar"]}  # type: ignore[dict-item]
    deltas = [one["choices"][0]["delta"].get("tool_calls", [{}])[0] for one in found]
    assert "".join(one.get("custom", {}).get("input", "") for one in deltas) == "SELECT 1"


async def test_a_web_search_gives_text_with_annotations_and_no_calls() -> None:
    wanted = {"query": "e"}

    def script(request: dict[str, Any]) -> Answer:
        if any(one["role"] == "tool" for one in request["messages"]):
            return Answer([completion("See [E](https://e.x/).")], JSON)
        name = request["tools"][0]["function"]["name"]
        function = {"name": name, "arguments": json.dumps(wanted)}
        called = {"id": "call_1", "type": "function", "function": function}
        return Answer([completion(None, tool_calls=[called])], JSON)

    async with serving(script, api="chat") as (server, _):
        server.parts.run.toolset = Toolset(web_search=Web())
        plain = await server.sdk.chat.completions.create(
            model="m", messages=HI, web_search_options={"search_context_size": "low"}
        )

    answer = plain.choices[0].message
    assert answer.tool_calls is None
    assert answer.annotations
    cited = answer.annotations[0].url_citation
    assert answer.content is not None
    assert cited.url == "https://e.x/"
    assert "E" in answer.content[cited.start_index : cited.end_index]


async def test_of_several_answers_the_first_that_fails_ends_the_stream() -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "Boom."})
    async with (
        serving(lambda _: Answer([json.dumps(failed).encode()], JSON), RUN) as (server, _),
        server.http.post(
            server.url + "/chat/completions",
            json={"model": "m", "messages": HI, "stream": True, "n": 3},
        ) as reply,
    ):
        assert b"[DONE]" not in await reply.read()


async def test_oh_my_pi_5850_images_of_tools_follow_all_results_at_a_chat_backend() -> None:
    calls = [
        {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for one in ("c1", "c2")
    ]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages = [
        *HI,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": [image]},
        {"role": "tool", "tool_call_id": "c2", "content": "B"},
    ]
    async with serving(lambda _: Answer([completion("Done.")], JSON), RUN, api="chat") as (
        server,
        backend,
    ):
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": messages}
        )

    assert status == 200, body
    roles = [one["role"] for one in backend.requests[0]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]


async def test_miqroforge_1100_a_call_that_was_cut_ends_with_length() -> None:
    cut = response(
        {**call("look", '{"a": "b', "call_1"), "status": "incomplete"},
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    async with serving(lambda _: Answer([json.dumps(cut).encode()], JSON), RUN) as (server, _):
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": HI, "tools": [FUNCTION]}
        )

    assert status == 200, body
    choices: Any = body["choices"]
    assert choices[0]["finish_reason"] == "length"


async def test_litellm_25321_arguments_that_come_at_once_are_not_lost() -> None:
    item = call("look", '{"a":1}', "call_1")
    events = [
        {"type": "response.created", "response": response(status="in_progress", usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}},
        {
            "type": "response.function_call_arguments.done",
            "output_index": 0,
            "item_id": item["id"],
            "arguments": '{"a":1}',
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response(item)},
    ]
    async with serving(lambda _: Answer([frames(*events)]), RUN) as (server, _):
        found = await chunks(server, tools=[FUNCTION])

    deltas = [one["choices"][0]["delta"].get("tool_calls", [{}])[0] for one in found]
    arguments = "".join(one.get("function", {}).get("arguments", "") for one in deltas)
    assert arguments == '{"a":1}'


async def test_a_long_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.server.exchange.GRACE", 0.01)
    monkeypatch.setattr("antiphon.server.exchange.KEEPALIVE_AFTER", 0.02)
    monkeypatch.setattr("antiphon.server.exchange.COMMENT_AFTER", 0.02)
    go = asyncio.Event()
    silent = Answer([], wait=go, rest=[sse(delta(content="At last"), delta("stop"))])
    body = {"model": "m", "messages": HI, "stream": True}
    async with (
        serving(lambda _: silent, RUN, api="chat") as (server, _),
        server.http.post(server.url + "/chat/completions", json=body) as reply,
    ):
        seen = b""
        while seen.count(b": keep-alive") < 2:
            seen += await reply.content.readany()
        go.set()
        seen += await reply.content.read()

    assert seen.startswith(b'data: {"id":"chatcmpl-')
    assert b"At last" in seen
    assert seen.endswith(b"data: [DONE]\n\n")
