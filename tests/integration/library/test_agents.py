"""Agents of a program: they run in it, and its clients call them by their names."""

import asyncio
import threading
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

import antiphon
from antiphon import Antiphon, AsyncAntiphon, ClientError
from antiphon.agents import AgentContext, AgentError, agent
from antiphon.testing import assert_event_stream
from tests.support.waiting import eventually


@agent("shout", description="Repeats in capitals")
async def shout(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        for word in ctx.input_text.upper().split():
            await text.write(word + " ")


@agent("relay")
async def relay(ctx: AgentContext) -> str:
    answer = await ctx.call("demo", ctx.input_text)
    return answer.output_text


@agent("place")
async def place(ctx: AgentContext) -> dict[str, Any]:
    return {"loop": id(asyncio.get_running_loop()), "thread": threading.get_ident()}


@agent("refuse")
async def refuse(ctx: AgentContext) -> None:
    raise AgentError("There is no such order.", code="no_order")


AGENTS = [shout, relay, place, refuse]


async def test_a_client_calls_an_agent_at_once_by_its_name() -> None:
    async with AsyncAntiphon(agents=AGENTS) as client:
        response = await client.responses.create(model="shout", input="hello you")
        names = [one.id for one in (await client.models.list()).data]
        found = await client.responses.retrieve(response.id)

    assert (response.status, response.output_text) == ("completed", "HELLO YOU ")
    assert found.output_text == response.output_text
    assert {"shout", "relay", "demo"} <= {*names}


async def test_an_agent_runs_in_the_event_loop_of_the_program() -> None:
    async with AsyncAntiphon(agents=AGENTS) as client:
        response = await client.responses.create(model="place", input="?")

    loop, thread = id(asyncio.get_running_loop()), threading.get_ident()
    assert response.output_text == f'{{"loop":{loop},"thread":{thread}}}'


async def test_its_events_follow_the_rules_of_a_stream() -> None:
    async with AsyncAntiphon(agents=AGENTS) as client:
        stream = await client.responses.create(model="shout", input="a b", stream=True)
        events = [event.to_dict() async for event in stream]

    assert_event_stream(events)
    assert [one["delta"] for one in events if one["type"].endswith("text.delta")] == ["A ", "B "]


async def test_an_agent_and_a_model_answer_in_one_chain_and_in_the_background() -> None:
    async with AsyncAntiphon(agents=AGENTS) as client:
        create = client.responses.create
        first = await create(model="demo", input="My name is Ada.")
        second = await create(
            model="shout", input="hi", previous_response_id=first.id, background=True
        )
        ended = await eventually(
            lambda: client.responses.retrieve(second.id), lambda found: found.status == "completed"
        )
        third = await create(model="relay", input="Hi", previous_response_id=second.id)

    assert (second.status, ended.output_text) == ("queued", "HI ")
    assert "scripted model" in third.output_text


async def test_errors_are_those_of_models() -> None:
    async with AsyncAntiphon(agents=AGENTS) as client:
        refused = await client.responses.create(model="refuse", input="?")
        with pytest.raises(ClientError) as caught:
            await client.responses.create(model="shout", input="?", temperature=0.5)

    assert refused.error is not None
    assert (refused.status, refused.error.code) == ("failed", "no_order")
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "temperature")


def test_the_client_without_a_loop_runs_them_too() -> None:
    with Antiphon(agents=AGENTS) as client:
        response = client.responses.create(model="shout", input="hello")
        events = list(client.responses.create(model="relay", input="Hi", stream=True))

    assert response.output_text == "HELLO "
    assert events[-1].type == "response.completed"


async def test_the_official_sdk_calls_them_in_the_process() -> None:
    with OpenAI(api_key="none", http_client=antiphon.http_client(agents=AGENTS)) as client:
        assert client.responses.create(model="shout", input="a").output_text == "A "
    transport = antiphon.async_http_client(agents=AGENTS)
    async with AsyncOpenAI(api_key="none", http_client=transport) as async_client:
        response = await async_client.responses.create(model="shout", input="b")
        assert response.output_text == "B "


async def test_closing_the_client_ends_an_agent_that_runs() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @agent("forever")
    async def forever(ctx: AgentContext) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncAntiphon(agents=[forever]) as client:
        await client.responses.create(model="forever", input="?", background=True)
        await began.wait()

    assert ended.is_set()
