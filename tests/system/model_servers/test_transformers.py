"""What `transformers serve` does otherwise, seen of its server itself, and what becomes of it
behind Antiphon.

This is the evidence for its row in `translation/dialects/`.
"""

import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.system.model_servers.requests import PLACE, TIDE_AT, stream
from tests.system.model_servers.servers import TRANSFORMERS, ModelServer

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize(
        "server", [TRANSFORMERS], ids=[TRANSFORMERS.name], indirect=True, scope="session"
    ),
]

MODEL = TRANSFORMERS.model
CHAT_TOOL = {"type": "function", "function": {"name": "tide_at", "parameters": PLACE}}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "tide_at", "arguments": '{"place": "Do'},
}
FORMAT: Any = {
    "format": {"type": "json_schema", "name": "answer", "schema": PLACE, "strict": False}
}
"""Without `strict`: noise that breaks the schema is passed on, with a warning."""


def message_of(body: bytes) -> dict[str, Any]:
    """The message of a plain answer."""
    message: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return message


async def test_nothing_in_its_list_identifies_it(sdk: AsyncOpenAI, server: ModelServer) -> None:
    """The owner of a model is who published it; so the dialect is to be named in the settings."""
    assert {model.owned_by async for model in sdk.models.list()} == {"tiny"}


# What it takes and does not heed.


async def test_an_ignored_format_is_described_to_the_model_in_words(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    _, body = await server.send_request("Where to?", response_format={"type": "json_object"})
    assert not (message_of(body)["content"] or "").startswith("{")

    free = await sdk.responses.create(model=MODEL, input="Where to?")
    reported = await sdk.responses.create(model=MODEL, input="Where to?", text=FORMAT)
    assert free.usage is not None
    assert reported.usage is not None
    assert reported.status == "completed"
    assert reported.usage.input_tokens > free.usage.input_tokens + 50  # the schema is among them


async def test_a_backend_that_ignores_the_choice_receives_no_tools_if_none_may_be_called(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    _, body = await server.send_request("When?", tools=[CHAT_TOOL], tool_choice="none")
    response = await sdk.responses.create(
        model=MODEL, input="When?", tools=[TIDE_AT], tool_choice="none"
    )

    assert message_of(body)["tool_calls"]
    assert [item.type for item in response.output] == ["message"]


async def test_a_tool_of_another_type_reaches_the_template_and_is_ignored(
    server: ModelServer,
) -> None:
    status, body = await server.send_request("When?", tools=[{"type": "web_search"}])

    assert status == 200, body
    assert not message_of(body).get("tool_calls")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "tide_at"}])
async def test_a_call_that_cannot_be_demanded_is_refused(
    sdk: AsyncOpenAI, server: ModelServer, choice: Any
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model=MODEL, input="When?", tools=[TIDE_AT], tool_choice=choice)

    assert (caught.value.code, caught.value.param) == ("unsupported_value", "tool_choice")


async def test_log_probabilities_that_never_come_are_refused(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    _, body = await server.send_request("Hello", logprobs=True, top_logprobs=2)
    assert "logprobs" not in json.loads(body)["choices"][0]

    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model=MODEL, input="Hello", top_logprobs=2)
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "top_logprobs")


async def test_a_penalty_means_something_else_so_it_is_left_out(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    status, _ = await server.send_request("Hello", frequency_penalty=-1)
    response = await sdk.responses.create(
        model=MODEL, input="Hello", extra_body={"frequency_penalty": -1}
    )

    assert (status, response.status) == (500, "completed")


# What it refuses.


async def test_a_field_that_it_does_not_know_is_named(server: ModelServer) -> None:
    """In the words that `translation/learned.py` reads."""
    status, body = await server.send_request("Hello", tide=1)

    assert (status, json.loads(body)) == (
        422,
        {"detail": "Unexpected fields in the request: {'tide'}"},
    )


async def test_torn_arguments_make_it_fail_so_they_go_inside_whole_ones(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    status, _ = await server.post(
        messages=[
            {"role": "user", "content": "When?"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "At noon."},
        ]
    )
    call: Any = {
        "type": "function_call",
        "call_id": "call_1",
        "name": "tide_at",
        "arguments": '{"place": "Do',
    }
    output: Any = {"type": "function_call_output", "call_id": "call_1", "output": "At noon."}
    response = await sdk.responses.create(
        model=MODEL, input=[{"role": "user", "content": "When?"}, call, output], tools=[TIDE_AT]
    )

    assert (status, response.status) == (500, "completed")


async def test_an_unknown_model_is_a_500_so_it_is_not_requested(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    status, body = await server.send_request("Hello", model="tiny/nobody")
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model="tiny/nobody", input="Hello")

    assert (status, body, caught.value.code) == (500, b"Internal Server Error", "model_not_found")


# Texts, tokens, calls.


async def test_parts_of_a_text_are_joined_here_since_it_would_put_blanks_between(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    """Two line ends are two tokens, a blank is one."""
    parts = [{"type": "text", "text": "ab"}, {"type": "text", "text": "cd"}]
    _, body = await server.post(messages=[{"role": "user", "content": parts}])
    stated: Any = {
        "role": "user",
        "content": [{"type": "input_text", "text": text} for text in ("ab", "cd")],
    }
    response = await sdk.responses.create(model=MODEL, input=[stated])

    assert response.usage is not None
    assert response.usage.input_tokens == json.loads(body)["usage"]["prompt_tokens"] + 1


async def test_a_stream_has_its_tokens_unasked_and_no_done(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    _, body = await server.send_request("Hello", stream=True)
    last = json.loads(body.rstrip().rpartition(b"data: ")[2])
    usage = (await stream(sdk, model=MODEL, input="Hello"))[-1]["response"]["usage"]

    assert last["usage"]["prompt_tokens"] == usage["input_tokens"] > 0
    assert usage["output_tokens"] > 0


async def test_it_knows_no_limit_of_the_input(sdk: AsyncOpenAI, server: ModelServer) -> None:
    """Its model's configuration says 2,048 tokens; what is beyond is read like all the rest."""
    response = await sdk.responses.create(model=MODEL, input="tide " * 3000)

    assert response.usage is not None
    assert (response.status, response.usage.input_tokens > 3000) == ("completed", True)


async def test_a_call_comes_whole_and_goes_out_as_one(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    plain = await sdk.responses.create(model=MODEL, input="When?", tools=[TIDE_AT])
    events = await stream(sdk, model=MODEL, input="When?", tools=[TIDE_AT])
    kinds = [event["type"] for event in events]
    (call,) = events[-1]["response"]["output"]

    assert kinds.count("response.function_call_arguments.delta") == 1
    assert (call["name"], json.loads(call["arguments"])) == ("tide_at", {"place": "Dover"})
    assert [item.type for item in plain.output] == ["function_call"]
