"""A server of Anthropic's Messages API as a backend, over real TCP: what it is sent, and what
clients see.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import openai
import pytest

from antiphon.build.backends import backends_of
from antiphon.config import BackendConfig, Settings
from antiphon.errors import BackendError
from antiphon.testing import assert_event_stream
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.messages_backend import (
    USAGE,
    answering,
    events_of,
    frames,
    opening,
    refusing,
    text,
    thinking,
    tool_use,
)
from tests.support.raw_http import received, speaking
from tests.support.replay import JSON, Answer, ReplayBackend, Script, delta, sse
from tests.support.server import RunningServer, serve

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}

LISTED = {
    "type": "model",
    "id": "m",
    "display_name": "M",
    "created_at": "2026-10-01T00:00:00Z",
    "max_input_tokens": 200_000,
    "max_tokens": 64_000,
}

OVERLOADED = refusing(529, "overloaded_error", "Overloaded", **{"retry-after": "7"})


@dataclass
class ClaudeBackend:
    """A server in front of Messages backends."""

    server: RunningServer
    backend: ReplayBackend

    async def send(self, input: Any = "Hi", **body: Any) -> Any:
        return await self.server.sdk.responses.create(model="m", input=input, **body)

    async def stream(self, input: Any = "Hi", **body: Any) -> list[dict[str, Any]]:
        sent = {"model": "m", "input": input, "stream": True, **body}
        async with self.server.http.post(self.server.url + "/responses", json=sent) as response:
            lines = (await response.text()).split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
        return [json.loads(one) for one in data]

    async def chat(self, **body: Any) -> Any:
        messages = [{"role": "user", "content": "Hi"}]
        return await self.server.sdk.chat.completions.create(
            **{"model": "m", "messages": messages, **body}
        )

    @property
    def sent(self) -> dict[str, Any]:
        """The newest request that the backend received."""
        return self.backend.requests[-1]


@asynccontextmanager
async def serving(*scripts: Script, **options: Any) -> AsyncIterator[ClaudeBackend]:
    """A server in front of a backend for each script, named `a`, `b` and so on."""
    async with AsyncExitStack() as stack:
        backends = [await stack.enter_async_context(_backend(one)) for one in scripts]
        clients = [
            HttpBackend(name, one.url, f"key-{name}", speaks_messages=True)
            for name, one in zip("abc", backends, strict=False)
        ]
        shares = {one.name: BackendOptions(api="messages", **options) for one in clients}
        server = await stack.enter_async_context(serve(*clients, shares=shares))
        yield ClaudeBackend(server, backends[0])


def _backend(script: Script) -> AbstractAsyncContextManager[ReplayBackend]:
    backend = ReplayBackend(script)
    backend.models = [LISTED]
    return backend.serve()


async def test_a_plain_answer_is_a_response() -> None:
    async with serving(answering([text("Hello there")])) as claude:
        response = await claude.send(instructions="Be kind.", max_output_tokens=50)

        assert response.output_text == "Hello there"
        assert response.usage.input_tokens == 127
        assert response.usage.input_tokens_details.cached_tokens == 100
        assert claude.sent == {
            "model": "m",
            "max_tokens": 50,
            "system": [{"type": "text", "text": "Be kind."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "stream": True,  # always: an answer can take longer than a plain one may
        }


async def test_the_key_and_the_version_are_sent_as_the_api_wants_them() -> None:
    async with serving(answering([text("Hello")])) as claude:
        await claude.send()

        head = claude.backend.heads[-1].decode().lower()
        assert head.startswith("post /v1/messages ")
        assert "x-api-key: key-a\r\n" in head
        assert "anthropic-version: 2023-06-01\r\n" in head


async def test_a_streamed_answer_is_a_sound_stream_of_events() -> None:
    async with serving(answering([thinking("Let me see."), text("Hello there")])) as claude:
        events = await claude.stream(reasoning={"effort": "low", "summary": "auto"})

        assert_event_stream(events)
        reasoning, message = events[-1]["response"]["output"]
        assert reasoning["summary"][0]["text"] == "Let me see."
        assert message["content"][0]["text"] == "Hello there"
        assert claude.sent["stream"] is True
        assert claude.sent["thinking"]["type"] == "enabled"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
async def test_signed_thinking_goes_back_with_the_results_of_its_calls(
    stream: bool, is_stored: bool
) -> None:
    signed = thinking("I must look.", "sig-of-claude")
    calls = [tool_use("look", "toolu_1", place="A"), tool_use("look", "toolu_2", place="B")]
    script = answering([signed, text("Looking."), *calls], [text("Sunny and cold.")])
    async with serving(script) as claude:
        question = {"role": "user", "content": "How is it in A and B?"}
        more: dict[str, Any] = {"tools": [TOOL], "store": is_stored}
        if not is_stored:
            more["include"] = ["reasoning.encrypted_content"]
        if stream:
            events = await claude.stream([question], **more)
            output = events[-1]["response"]["output"]
            response_id = events[-1]["response"]["id"]
        else:
            response = await claude.send([question], **more)
            output = [item.to_dict() for item in response.output]
            response_id = response.id
        results: list[Any] = [
            {"type": "function_call_output", "call_id": "toolu_1", "output": "sunny"},
            {"type": "function_call_output", "call_id": "toolu_2", "output": "cold"},
        ]
        if is_stored:
            more["previous_response_id"] = response_id
        else:
            results = [question, *output, *results]
        response = await claude.send(results, **more)

        assert response.output_text == "Sunny and cold."
        assert [message["role"] for message in claude.sent["messages"]] == [
            "user",
            "assistant",
            "user",
        ]
        answer, results_sent = claude.sent["messages"][1:]
        assert answer["content"] == [signed, text("Looking."), *calls]
        assert [(block["type"], block["tool_use_id"]) for block in results_sent["content"]] == [
            ("tool_result", "toolu_1"),
            ("tool_result", "toolu_2"),
        ]


async def test_signed_thinking_goes_back_within_a_response_too() -> None:
    """The server runs the search for tools, and calls the model again."""
    signed = thinking("I need a tool.", "sig-of-claude")
    search = tool_use("tool_search", "toolu_1", query="look")
    script = answering([signed, search], [text("Found it.")])
    async with serving(script) as claude:
        deferred = {**TOOL, "description": "Looks at a place.", "defer_loading": True}
        response = await claude.send(tools=[{"type": "tool_search"}, deferred], store=False)

        assert response.output_text == "Found it."
        assert claude.sent["messages"][1]["content"][0] == signed
        assert "look" in [tool["name"] for tool in claude.sent["tools"]]


async def test_thinking_that_the_backend_does_not_recognise_is_left_out() -> None:
    refused = refusing(
        400,
        "invalid_request_error",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    )
    script = answering([thinking("I must look."), tool_use("look")], refused, [text("Sunny.")])
    async with serving(script) as claude:
        first = await claude.send(tools=[TOOL])
        output = {"type": "function_call_output", "call_id": "toolu_1", "output": "sunny"}
        response = await claude.send([output], tools=[TOOL], previous_response_id=first.id)

        assert response.output_text == "Sunny."
        kinds = [
            [block["type"] for block in request["messages"][1]["content"]]
            for request in claude.backend.requests[1:]
        ]
        assert kinds == [["thinking", "tool_use"], ["tool_use"]]


async def test_a_schema_is_sent_by_the_means_of_the_api() -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 9}},
        "required": ["name"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "name": "person", "schema": schema, "strict": True}
    async with serving(answering([text('{"name": "Ada"}')])) as claude:
        response = await claude.send(text={"format": form})

        assert json.loads(response.output_text) == {"name": "Ada"}
        sent = claude.sent["output_config"]["format"]
        assert sent["type"] == "json_schema"
        assert "maxLength" not in sent["schema"]["properties"]["name"]
        assert sent["schema"]["additionalProperties"] is False


async def test_where_one_is_overloaded_another_answers() -> None:
    async with serving(answering(OVERLOADED), answering([text("Hello")])) as claude:
        response = await claude.send()

        assert response.output_text == "Hello"
        assert len(claude.backend.requests) == 1


async def test_an_overloaded_backend_is_an_error_with_its_wait() -> None:
    async with serving(answering(OVERLOADED)) as claude:
        sdk = claude.server.sdk.with_options(max_retries=0)
        with pytest.raises(openai.InternalServerError) as refused:
            await sdk.responses.create(model="m", input="Hi")

        assert refused.value.status_code == 503
        assert refused.value.code == "server_is_overloaded"
        assert int(refused.value.response.headers["retry-after"]) >= 7


async def test_an_overload_in_the_stream_before_any_content_fails_over() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    begun = Answer([frames(opening(), error)])
    async with serving(answering(begun), answering([text("Hello")])) as claude:
        events = await claude.stream()

        assert events[-1]["type"] == "response.completed"


async def test_an_error_after_the_first_word_fails_the_response() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    begun = events_of(text("Hello there"))[:4]
    async with serving(answering(Answer([frames(*begun, error)]))) as claude:
        events = await claude.stream()

        assert_event_stream(events)
        assert events[-1]["type"] == "response.failed"
        assert events[-1]["response"]["error"]["code"] == "server_is_overloaded"


async def test_a_stream_that_breaks_off_fails_the_response() -> None:
    begun = frames(*events_of(text("Hello there"))[:-1])
    async with serving(answering(Answer([begun]))) as claude:
        events = await claude.stream()

        assert_event_stream(events)
        assert events[-1]["type"] == "response.failed"


async def test_a_client_that_leaves_ends_the_answer_of_the_backend() -> None:
    begun = frames(*events_of(text("Hello there"))[:5])
    answer = Answer([begun], wait=asyncio.Event())
    async with serving(answering(answer)) as claude:
        stream = await claude.send(stream=True, store=False)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        async with asyncio.timeout(30):
            await claude.backend.left.wait()


async def test_a_prompt_that_is_too_long_has_the_code_that_clients_know() -> None:
    refused = refusing(
        400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"
    )
    async with serving(answering(refused)) as claude:
        with pytest.raises(openai.BadRequestError) as error:
            await claude.send()

        assert error.value.code == "context_length_exceeded"


async def test_a_parameter_that_the_model_rejects_is_omitted_from_then_on() -> None:
    refused = refusing(400, "invalid_request_error", "temperature: Extra inputs are not permitted")
    async with serving(answering(refused, [text("Hello")])) as claude:
        await claude.send(temperature=0.5)
        await claude.send(temperature=0.5)

        assert ["temperature" in request for request in claude.backend.requests] == [
            True,
            False,
            False,
        ]


async def test_the_form_of_thinking_follows_the_first_rejection() -> None:
    refused = refusing(
        400,
        "invalid_request_error",
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    )
    async with serving(answering(refused, [text("Hello")])) as claude:
        for _ in range(2):
            await claude.send(reasoning={"effort": "high"})

        kinds = [request["thinking"]["type"] for request in claude.backend.requests]
        assert kinds == ["enabled", "adaptive", "adaptive"]
        assert claude.sent["output_config"] == {"effort": "high"}


async def test_an_answer_without_a_limit_has_the_default_or_what_the_model_allows() -> None:
    refused = refusing(
        400,
        "invalid_request_error",
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m",
    )
    async with serving(answering(refused, [text("Hello")])) as claude:
        for _ in range(2):
            await claude.send()

        assert [one["max_tokens"] for one in claude.backend.requests] == [32_000, 8_192, 8_192]


async def test_chat_completions_are_answered_too() -> None:
    blocks = [thinking("I must look.", "sig"), text("Looking."), tool_use("look", place="A")]
    async with serving(answering(blocks)) as claude:
        function = {"name": "look", "parameters": TOOL["parameters"]}
        completion = await claude.chat(tools=[{"type": "function", "function": function}])

        (choice,) = completion.choices
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content == "Looking."
        assert json.loads(choice.message.tool_calls[0].function.arguments) == {"place": "A"}
        assert choice.message.reasoning_content == "I must look."
        assert completion.usage.prompt_tokens == 127


async def test_a_file_of_a_chat_completion_is_read_here() -> None:
    data = "data:text/plain;base64," + base64.b64encode(b"High water is at nine.").decode()
    file = {"type": "file", "file": {"filename": "tides.txt", "file_data": data}}
    async with serving(answering([text("Nine.")])) as claude:
        await claude.chat(messages=[{"role": "user", "content": [file]}])

        (message,) = claude.sent["messages"]
        assert "High water is at nine." in message["content"][0]["text"]


async def test_the_stop_of_a_chat_completion_ends_its_text() -> None:
    async with serving(answering([text("Looking. END Found.")])) as claude:
        completion = await claude.chat(stop=["END"])

        (choice,) = completion.choices
        assert choice.finish_reason == "stop"
        assert choice.message.content == "Looking. "


async def test_clients_of_the_same_api_lose_nothing_between() -> None:
    signed = thinking("I must look.", "sig-of-claude")
    script = answering([signed, text("Looking."), tool_use("look", place="A")], [text("Sunny.")])
    question = {"role": "user", "content": [text("How is it in A?")]}
    tool = {"name": "look", "input_schema": TOOL["parameters"]}
    body = {
        "model": "m",
        "max_tokens": 8_000,
        "tools": [tool],
        "thinking": {"type": "enabled", "budget_tokens": 3_000},
    }
    async with serving(script) as claude:
        _, first = await claude.server.post("/messages", json={**body, "messages": [question]})
        answer = {"role": "assistant", "content": first["content"]}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("sunny")]}
        turns = [question, answer, {"role": "user", "content": [{**result, "is_error": True}]}]
        _, last = await claude.server.post("/messages", json={**body, "messages": turns})

        assert "sig-of-claude" not in json.dumps(first)
        assert last["content"][-1]["text"] == "Sunny."
        counts = {name: last["usage"][name] for name in USAGE}
        assert counts == USAGE
        assert claude.sent["thinking"] == body["thinking"]
        calls = [signed, text("Looking."), tool_use("look", place="A")]
        assert claude.sent["messages"][1]["content"] == calls
        (delivered,) = claude.sent["messages"][2]["content"]
        assert delivered["is_error"] is True
        assert delivered["content"] == [text("sunny")]


async def test_a_text_is_continued() -> None:
    async with serving(answering([text(" is sunny.")])) as claude:
        turns = [
            {"role": "user", "content": "How is it?"},
            {"role": "assistant", "content": "It"},
        ]
        body = {"model": "m", "max_tokens": 100, "messages": turns}
        _, message = await claude.server.post("/messages", json=body)

        assert message["content"][-1]["text"].strip() == "is sunny."
        assert claude.sent["messages"][-1] == {"role": "assistant", "content": [text("It")]}


async def test_a_chat_client_can_send_signed_thinking_back() -> None:
    signed = thinking("I must look.", "sig")
    async with serving(answering([signed, tool_use("look")], [text("Sunny.")])) as claude:
        function = {"name": "look", "parameters": TOOL["parameters"]}
        tools = [{"type": "function", "function": function}]
        first = await claude.chat(tools=tools)
        answer = first.choices[0].message.to_dict()
        question = {"role": "user", "content": "Hi"}
        output = {"role": "tool", "tool_call_id": "toolu_1", "content": "sunny"}
        last = await claude.chat(tools=tools, messages=[question, answer, output])

        assert last.choices[0].message.content == "Sunny."
        assert claude.sent["messages"][1]["content"] == [signed, tool_use("look")]


async def test_a_conversation_can_move_to_another_api_and_back() -> None:
    signed = thinking("Claude's thought.", "sig")
    script = answering([signed, text("One.")], [text("Three.")])
    spoken = delta(reasoning_content="Another thought.", content="Two.")
    async with (
        ReplayBackend(script).serve() as claude,
        ReplayBackend(lambda _: Answer([sse(spoken, delta("stop"))])).serve() as other,
    ):
        claude.models = [LISTED]
        other.models = [{"id": "n", "object": "model"}]
        backends = [
            HttpBackend("a", claude.url, speaks_messages=True),
            HttpBackend("b", other.url),
        ]
        shares = {"a": BackendOptions(api="messages")}
        async with serve(*backends, shares=shares, dialects={"b": "deepseek"}) as server:
            newest: Any = None
            for model in ("m", "n", "m"):
                before = newest.id if newest else None
                newest = await server.sdk.responses.create(
                    model=model, input="Go on.", previous_response_id=before
                )

    assert newest.output_text == "Three."
    assert "sig" not in json.dumps(other.requests[0])
    answers = [one for one in claude.requests[-1]["messages"] if one["role"] == "assistant"]
    assert [one["content"] for one in answers] == [[signed, text("One.")], [text("Two.")]]


async def test_chat_completions_are_streamed_too() -> None:
    async with serving(answering([text("Hello there")])) as claude:
        stream = await claude.chat(stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]

        words = [one.choices[0].delta.content or "" for one in chunks if one.choices]
        assert "".join(words) == "Hello there"
        assert chunks[-1].usage.total_tokens == 132


@pytest.mark.parametrize("path", ["", "/v1", "/v1/", "/v1/messages"])
async def test_the_url_can_have_any_of_the_usual_ends(path: str) -> None:
    async with ReplayBackend(answering([text("Hello")])).serve() as backend:
        root = backend.url.removesuffix("/v1")
        config = BackendConfig(url=root + path, name="c", api="messages")
        line = await backends_of(Settings(backends=[config]), {})
        async with serve(*line.backends, shares=line.shares) as server:
            response = await server.sdk.responses.create(model="m", input="Hi")

        assert response.output_text == "Hello"
        assert backend.heads[-1].startswith(b"POST /v1/messages ")


@pytest.mark.parametrize(
    ("host", "has_bearer"), [("api.anthropic.com", False), ("gateway.example", True)]
)
async def test_anthropic_gets_the_key_once_and_gateways_in_both_headers(
    host: str, has_bearer: bool
) -> None:
    async with ReplayBackend(answering([text("Hello")])).serve() as proxy:
        root = proxy.url.removesuffix("/v1")
        backend = HttpBackend("c", f"http://{host}", "k", proxy=root, speaks_messages=True)
        await (await backend.post("/messages", b'{"stream": false}')).read()
        await backend.close()

    head = proxy.heads[-1].lower()
    assert b"x-api-key: k\r\n" in head
    assert (b"authorization: bearer k\r\n" in head) is has_bearer


async def test_the_host_of_anthropic_needs_no_setting() -> None:
    configs = [BackendConfig(url="https://api.anthropic.com"), BackendConfig(url="http://c/v1")]
    line = await backends_of(Settings(backends=configs), {})

    assert [backend.url for backend in line.backends] == [
        "https://api.anthropic.com/v1",
        "http://c/v1",
    ]


async def test_its_models_are_listed() -> None:
    async with serving(answering([text("Hello")])) as claude:
        status, listing = await claude.server.get("/models")

        assert status == 200
        assert [one["id"] for one in listing["data"]] == ["m"]


async def test_tokens_are_counted_by_the_backend() -> None:
    def script(request: dict[str, Any]) -> Answer:
        return Answer([b'{"input_tokens": 42}'], JSON)

    async with serving(script) as claude:
        request = {"model": "m", "input": "Hi", "instructions": "Be kind.", "tools": [TOOL]}
        status, counted = await claude.server.post("/responses/input_tokens", json=request)

        assert (status, counted["input_tokens"]) == (200, 42)
        assert claude.backend.heads[-1].startswith(b"POST /v1/messages/count_tokens ")
        assert claude.sent.keys() == {"model", "messages", "system", "tools"}


async def test_a_list_of_models_that_is_missing_has_its_advice() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n")

    async with speaking(speak) as url:
        backend = HttpBackend("c", url, speaks_messages=True)
        with pytest.raises(BackendError, match="`models`"):
            await backend.list_models()
        await backend.close()


async def test_a_form_that_is_rejected_too_is_not_used_again() -> None:
    """An error can quote what a client wrote, such as the word for thinking."""
    quoting = refusing(400, "invalid_request_error", "tools.0.name: 'thinking tool' is invalid")
    script = answering(quoting, quoting, [text("Hello")])
    async with serving(script, plain_retry=False) as claude:
        effort = {"effort": "high"}
        with pytest.raises(openai.BadRequestError):
            await claude.send(reasoning=effort, tools=[TOOL])
        await claude.send(reasoning=effort)

        kinds = [request["thinking"]["type"] for request in claude.backend.requests]
        assert kinds == ["enabled", "adaptive", "enabled"]
