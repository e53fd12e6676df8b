"""A server of Ollama by its native API: the window that a model gets, and prompts that are never
cut silently.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from antiphon.errors import AntiphonError
from antiphon.gateway.parts import Parts
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.ollama import FORGET_AFTER
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.poll import Poll
from antiphon.upstream.registry import ModelRegistry
from tests.support.fake_ollama import FakeOllama
from tests.support.parts import NOW, foundation, parts_with, query, stream

PROSE = "The quick brown fox jumps over the lazy dog near the river. "
THINKING = ("completion", "tools", "thinking")
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


@asynccontextmanager
async def serving(server: FakeOllama, **options: Any) -> AsyncIterator[Parts]:
    """Parts in front of this server."""
    async with server.serve() as url:
        backend = HttpBackend("b", url)
        models = ModelRegistry(
            [backend], lambda: NOW, options={"b": BackendOptions(**{"api": "auto", **options})}
        )
        store = SqliteStore.open("sqlite://", now=lambda: NOW)
        parts = parts_with(foundation(models, store))
        try:
            yield parts
        finally:
            await backend.close()
            await store.close()


async def send(parts: Parts, text: str = "Hi", **body: Any) -> Any:
    return await query(parts, model="qwen3", input=text, **body)


def text_of(response: Any) -> str:
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


def windows(server: FakeOllama) -> list[int]:
    return [request["options"]["num_ctx"] for request in server.requests]


async def test_a_server_that_is_recognised_is_called_by_its_native_api() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        response = await send(parts)

    assert text_of(response).startswith("I read ")
    assert (len(server.requests), server.compatible) == (1, [])
    assert server.paths == ["/v1/models", "/api/version", "/api/show", "/api/ps", "/api/chat"]


async def test_later_requests_cost_no_further_calls() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        await send(parts)
        server.paths.clear()
        await send(parts)

    assert server.paths == ["/api/chat"]


@pytest.mark.parametrize(("api", "is_native"), [("chat", True), ("auto", False)])
async def test_chat_completions_are_used_where_that_is_configured_or_all_there_is(
    api: str, is_native: bool
) -> None:
    server = FakeOllama(is_native=is_native)
    async with serving(server, api=api) as parts:
        await send(parts)

    assert (server.requests, len(server.compatible)) == ([], 1)


async def test_the_native_api_can_be_configured() -> None:
    server = FakeOllama()
    async with serving(server, api="ollama") as parts:
        await send(parts)

    assert "/api/version" not in server.paths
    assert len(server.requests) == 1


async def test_a_long_prompt_gets_a_window_that_holds_it() -> None:
    """As large as what Codex says first; by `/v1` this server reads 4,096 tokens of it."""
    server = FakeOllama()
    tools = [{**TOOL, "name": f"look_{number}", "description": PROSE * 10} for number in range(24)]
    async with serving(server) as parts:
        response = await send(parts, PROSE * 400, tools=tools)

    (request,) = server.requests
    assert server.tokens(request) > 9_000
    assert text_of(response) == f"I read {server.tokens(request)} tokens."
    assert server.loads == [32_768]


async def test_the_window_grows_in_few_steps_and_never_shrinks() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        for words in (1, 100, 400, 1_200, 1, 400):
            await send(parts, PROSE * words)

    assert windows(server) == [8_192, 8_192, 16_384, 32_768, 32_768, 32_768]
    assert server.loads == [8_192, 16_384, 32_768]


async def test_a_model_that_thinks_has_room_for_it() -> None:
    server = FakeOllama(capabilities=THINKING)
    async with serving(server) as parts:
        await send(parts)

    assert windows(server) == [16_384]


async def test_an_unknown_model_is_searched_again() -> None:
    server = FakeOllama(missing=True)
    async with serving(server) as parts:
        with pytest.raises(AntiphonError) as refused:
            await send(parts)
        server.missing = False
        response = await send(parts)

    assert (refused.value.status, refused.value.code) == (400, "model_not_found")
    assert response["status"] == "completed"
    assert server.paths.count("/api/show") == 2


async def test_a_large_enough_window_in_memory_is_reused() -> None:
    server = FakeOllama(loaded=20_000)
    async with serving(server) as parts:
        await send(parts, PROSE * 400)

    assert (windows(server), server.loads) == ([20_000], [])


async def test_a_window_loaded_by_another_process_meanwhile_is_reused() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        await send(parts)
        server.loaded = 65_536
        await Poll(parts.models, 60).poll_once()
        await send(parts)

    assert windows(server) == [8_192, 65_536]


async def test_the_window_of_a_modelfile_is_where_it_begins() -> None:
    server = FakeOllama(modelfile=24_000)
    async with serving(server) as parts:
        await send(parts)

    assert windows(server) == [24_000]


async def test_a_prompt_of_more_tokens_than_estimated_is_sent_again_with_a_larger_window() -> None:
    server = FakeOllama(density=2)
    async with serving(server) as parts:
        response = await send(parts, PROSE * 560)

    assert windows(server) == [16_384, 32_768]
    assert response["status"] == "completed"


async def test_a_prompt_beyond_the_largest_window_is_refused_before_the_model_is_loaded() -> None:
    server = FakeOllama()
    async with serving(server, num_ctx=8_192) as parts:
        with pytest.raises(AntiphonError) as refused:
            await send(parts, PROSE * 2_000)

    assert (refused.value.status, refused.value.code, refused.value.param) == (
        400,
        "context_length_exceeded",
        "input",
    )
    assert server.requests == []


async def test_a_prompt_that_may_fit_is_left_to_the_server_to_refuse() -> None:
    server = FakeOllama()
    async with serving(server, num_ctx=8_192) as parts:
        with pytest.raises(AntiphonError) as refused:
            await send(parts, PROSE * 700)

    assert refused.value.code == "context_length_exceeded"
    assert windows(server) == [8_192]


async def test_truncation_shortens_the_history_until_it_fits() -> None:
    server = FakeOllama(trained=8_192)
    messages = [{"role": "user", "content": PROSE * 150} for _ in range(8)]
    async with serving(server) as parts:
        first = await query(
            parts,
            model="qwen3",
            input=[*messages, {"role": "user", "content": "Hi"}],
            truncation="auto",
        )
        sent = len(server.requests)
        second = await query(
            parts,
            model="qwen3",
            input=[*messages, {"role": "user", "content": "Hi"}],
            truncation="auto",
        )

    assert (first["status"], second["status"]) == ("completed", "completed")
    assert server.requests[-1]["messages"][-1]["content"] == "Hi"
    assert len(server.requests) == sent + 1  # now that its window is known, no call is wasted


async def test_clients_learn_the_window_of_the_model_once_it_was_called() -> None:
    server = FakeOllama(trained=40_960)
    async with serving(server) as parts:
        await parts.models.find("qwen3")
        before = parts.models.context_window("qwen3")
        await send(parts)

        assert (before, parts.models.context_window("qwen3")) == (65_536, 40_960)


async def test_the_window_of_a_model_can_be_configured() -> None:
    server = FakeOllama()
    configured = (ModelOptions("qwen3", ModelProfile(context_window=10_000)),)
    async with serving(server, configured=configured) as parts:
        await send(parts, PROSE * 400)

    assert windows(server) == [10_000]


async def test_a_client_can_request_a_larger_window_up_to_the_limit() -> None:
    server = FakeOllama()
    async with serving(server, num_ctx=32_768) as parts:
        await send(parts)
        target = await parts.models.find("qwen3")
        for wanted in (1_024, 20_000, 1_000_000):
            body = {"model": "qwen3", "messages": [], "options": {"num_ctx": wanted}}
            await (await target.backend.post(target.chat_path, msgspec.json.encode(body))).close()

    assert windows(server) == [8_192, 8_192, 32_768, 32_768]


async def test_a_window_beyond_the_memory_is_not_requested_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = FakeOllama(memory=16_384)
    async with serving(server) as parts:
        with pytest.raises(AntiphonError):
            await send(parts, PROSE * 1_200)
        response = await send(parts)

    assert windows(server) == [32_768, 8_192]
    assert response["status"] == "completed"
    assert "while loading 'qwen3' with a window of 32768 tokens" in caplog.text


async def test_an_old_server_that_cuts_the_prompt_all_the_same_makes_the_response_fail() -> None:
    server = FakeOllama(knows_truncate=False, density=2)
    async with serving(server) as parts:
        events = await stream(parts, model="qwen3", input=PROSE * 560)
        with pytest.raises(AntiphonError) as refused:
            await send(parts, PROSE * 560 + "Again.")

    assert (
        events[-1]["response"]["error"]["code"] == refused.value.code == "context_length_exceeded"
    )


@pytest.mark.parametrize("window", [None, 4_096])
async def test_chat_completions_that_read_a_part_of_the_prompt_make_the_response_fail(
    window: int | None,
) -> None:
    server = FakeOllama()
    configured = (ModelOptions("*", ModelProfile(context_window=window)),) if window else ()
    async with serving(server, api="chat", configured=configured) as parts:
        short = await send(parts)
        long = (await stream(parts, model="qwen3", input=PROSE * 520))[-1]
        with pytest.raises(AntiphonError) as refused:
            await send(parts, PROSE * 520)

    assert short["status"] == "completed"
    assert (long["type"], long["response"]["error"]["code"]) == (
        "response.failed",
        "context_length_exceeded",
    )
    assert "read only 4,096 of about" in long["response"]["error"]["message"]
    assert (refused.value.status, refused.value.param) == (
        400,
        "input",
    )  # which SDKs do not send again


async def test_a_known_window_refuses_what_is_clearly_beyond_it_without_a_call() -> None:
    server = FakeOllama()
    async with serving(
        server, api="chat", configured=(ModelOptions("*", ModelProfile(context_window=4_096)),)
    ) as parts:
        with pytest.raises(AntiphonError) as refused:
            await send(parts, PROSE * 1_000)

    assert refused.value.code == "context_length_exceeded"
    assert server.compatible == []


async def test_thinking_text_and_calls_arrive_in_a_stream() -> None:
    call = {"id": "call_9", "function": {"name": "look", "arguments": {}}}
    server = FakeOllama(
        capabilities=THINKING,
        answers=[[{"thinking": "Hm."}, {"content": "I look."}, {"tool_calls": [call]}]],
    )
    async with serving(server) as parts:
        events = await stream(parts, model="qwen3", tools=[TOOL], reasoning={"effort": "low"})

    response = events[-1]["response"]
    assert [item["type"] for item in response["output"]] == [
        "reasoning",
        "message",
        "function_call",
    ]
    assert response["usage"]["output_tokens"] == 5
    assert server.requests[0]["think"] == "low"


async def test_the_output_of_a_call_goes_back_with_the_name_of_its_tool() -> None:
    call = {"id": "call_9", "function": {"name": "look", "arguments": {"at": "x"}}}
    server = FakeOllama(
        capabilities=THINKING,
        answers=[[{"thinking": "Hm.", "tool_calls": [call]}], [{"content": "Done."}]],
    )
    async with serving(server) as parts:
        first = await send(parts, tools=[TOOL])
        output = {"type": "function_call_output", "call_id": "call_9", "output": "Nothing."}
        await query(
            parts, model="qwen3", input=[output], previous_response_id=first["id"], tools=[TOOL]
        )

    _, assistant, tool = server.requests[1]["messages"]
    assert assistant["tool_calls"] == [
        {"id": "call_9", "function": {"name": "look", "arguments": {"at": "x"}}}
    ]
    assert assistant["thinking"] == "Hm."
    assert (tool["role"], tool["tool_name"], tool["content"]) == ("tool", "look", "Nothing.")


async def test_images_and_schemas_go_in_the_native_form() -> None:
    server = FakeOllama(answers=[[{"content": '{"a": 1}'}]])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    content = [
        {"type": "input_text", "text": "?"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
    ]
    async with serving(server) as parts:
        form = {"format": {"type": "json_schema", "name": "x", "schema": schema}}
        await query(parts, model="qwen3", input=[{"role": "user", "content": content}], text=form)

    (request,) = server.requests
    assert request["messages"][0] == {"role": "user", "content": "?", "images": ["aGk="]}
    assert request["format"] == schema


async def test_an_image_by_url_is_refused_by_the_name_that_the_client_knows() -> None:
    server = FakeOllama()
    content = [{"type": "input_image", "image_url": "https://example.com/a.png"}]
    async with serving(server) as parts:
        with pytest.raises(AntiphonError) as refused:
            await query(parts, model="qwen3", input=[{"role": "user", "content": content}])

    assert (refused.value.status, refused.value.param) == (400, "input")
    assert server.requests == []


async def test_a_model_without_reasoning_receives_no_reasoning_effort() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        response = await send(parts, reasoning={"effort": "high"})

    assert response["status"] == "completed"


async def test_the_time_in_memory_is_the_operators() -> None:
    server = FakeOllama()
    async with serving(server, keep_alive="30m") as parts:
        await send(parts)

    assert server.requests[0]["keep_alive"] == "30m"


async def test_a_model_of_ollamas_service_keeps_its_own_window() -> None:
    server = FakeOllama(remote_host="https://ollama.com:443", default=131_072)
    async with serving(server) as parts:
        await send(parts, PROSE * 2_000)

    assert "options" not in server.requests[0]


async def test_a_model_that_was_unused_is_probed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        await send(parts, PROSE * 1_200)
        server.loaded = 0
        monkeypatch.setattr("antiphon.upstream.ollama.FORGET_AFTER", -FORGET_AFTER)
        await send(parts)

    assert windows(server) == [32_768, 8_192]


async def test_a_large_request_is_translated_in_a_thread_with_the_same_result() -> None:
    server = FakeOllama(density=400)
    async with serving(server, num_ctx=1_000_000) as parts:
        response = await send(parts, PROSE * 8_000)

    assert text_of(response) == f"I read {server.tokens(server.requests[0])} tokens."


async def test_an_image_counts_little_for_the_window_though_its_data_are_long() -> None:
    server = FakeOllama(density=1_000)
    url = "data:image/png;base64," + "QUJD" * 50_000
    async with serving(server) as parts:
        content = [{"type": "input_image", "image_url": url}]
        await query(parts, model="qwen3", input=[{"role": "user", "content": content}])

    assert windows(server) == [8_192]


async def test_chat_clients_get_the_backends_own_answer() -> None:
    server = FakeOllama()
    async with serving(server) as parts:
        target = await parts.models.find("qwen3")
        reply = await target.backend.post(
            "/chat/completions", msgspec.json.encode({"model": "m", "messages": []})
        )
        answer = json.loads(await reply.read())
        await reply.close()

    assert answer["object"] == "chat.completion"
    assert (server.requests, len(server.compatible)) == ([], 1)
