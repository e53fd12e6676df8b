"""What holds over every model server: texts, streams, tokens, turns, mistakes."""

import asyncio
import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.system.model_servers.requests import FOR_EVER, TIDE_AT, deltas_of, stream, text_of
from tests.system.model_servers.servers import TRANSFORMERS, ModelServer

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_models_are_those_that_it_lists(sdk: AsyncOpenAI, server: ModelServer) -> None:
    assert [model.id async for model in sdk.models.list()] == [server.kind.model]


async def test_a_text_and_its_tokens_are_the_servers_own(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    """At temperature 0 even noise is the same twice."""
    _, body = await server.send_request("Hello", temperature=0, max_tokens=30)
    own = json.loads(body)
    response = await sdk.responses.create(
        model=server.kind.model, input="Hello", temperature=0, max_output_tokens=30
    )

    assert response.usage is not None
    assert response.output_text.strip() == own["choices"][0]["message"]["content"].strip()
    assert (
        response.usage.input_tokens,
        response.usage.output_tokens,
        response.usage.total_tokens,
    ) == (
        own["usage"]["prompt_tokens"],
        own["usage"]["completion_tokens"],
        own["usage"]["total_tokens"],
    )


async def test_a_streamed_text_is_the_sum_of_its_deltas(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    events = await stream(sdk, model=server.kind.model, input=FOR_EVER, max_output_tokens=40)

    assert len([event for event in events if event["type"] == "response.output_text.delta"]) > 10
    assert deltas_of(events) == text_of(events[-1]["response"])


async def test_an_answer_that_is_cut_off_is_incomplete(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    requested: Any = {"model": server.kind.model, "input": FOR_EVER, "max_output_tokens": 20}
    plain = await sdk.responses.create(**requested)
    streamed = (await stream(sdk, **requested))[-1]

    assert plain.usage is not None
    assert (plain.status, plain.usage.output_tokens) == ("incomplete", 20)
    assert (streamed["type"], streamed["response"]["incomplete_details"]) == (
        "response.incomplete",
        {"reason": "max_output_tokens"},
    )


async def test_a_tool_is_called_and_its_output_is_taken(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    """Only one of the two lets a call be demanded; the other's model calls wherever it can."""
    choice: Any = "auto" if server.kind is TRANSFORMERS else {"type": "function", "name": "tide_at"}
    events = await stream(
        sdk,
        model=server.kind.model,
        input="When is the tide high in Dover?",
        tools=[TIDE_AT],
        tool_choice=choice,
    )
    (call,) = events[-1]["response"]["output"]
    output: Any = {"type": "function_call_output", "call_id": call["call_id"], "output": "At noon."}
    after = await sdk.responses.create(
        model=server.kind.model,
        previous_response_id=events[-1]["response"]["id"],
        input=[output],
        tools=[TIDE_AT],
    )

    assert (call["type"], call["name"]) == ("function_call", "tide_at")
    assert isinstance(json.loads(call["arguments"])["place"], str)
    assert (after.status, [item.type for item in after.output]) == ("completed", ["message"])


async def test_a_later_system_message_does_no_harm(sdk: AsyncOpenAI, server: ModelServer) -> None:
    """The templates of both models raise an error where one comes later, as many do."""
    status, _ = await server.post(
        messages=[{"role": "user", "content": "Hello"}, {"role": "system", "content": "Be brief."}]
    )
    response = await sdk.responses.create(
        model=server.kind.model,
        input=[{"role": "user", "content": "Hello"}, {"role": "developer", "content": "Be brief."}],
    )

    assert status == 500
    assert response.status == "completed"


async def test_two_streams_at_once_both_come_to_their_end(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    requested: Any = {"model": server.kind.model, "input": FOR_EVER, "max_output_tokens": 60}
    both = await asyncio.gather(stream(sdk, **requested), stream(sdk, **requested))

    assert [events[-1]["type"] for events in both] == ["response.incomplete"] * 2


async def test_monitoring_the_server_breaks_no_stream(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    """It is looked after every 50 ms."""
    polls = server.printed("GET /v1/models")
    events = await stream(sdk, model=server.kind.model, input=FOR_EVER, max_output_tokens=1000)
    await server.prints("GET /v1/models", times=polls + 3)

    assert events[-1]["type"] == "response.incomplete"


async def test_an_unknown_model_is_the_clients_mistake(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model="nobody", input="Hello")

    assert caught.value.code == "model_not_found"


async def test_a_background_response_completes(sdk: AsyncOpenAI, server: ModelServer) -> None:
    response = await sdk.responses.create(model=server.kind.model, input="Hello", background=True)
    while response.status in ("queued", "in_progress"):
        response = await sdk.responses.retrieve(response.id)

    assert response.status == "completed"
