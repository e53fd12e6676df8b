"""The Agents SDK, unmodified, against the server."""

import json
from typing import Any

import pytest
from agents import (
    Agent,
    CodeInterpreterTool,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    OpenAIResponsesWSModel,
    RunConfig,
    Runner,
    SQLiteSession,
    WebSearchTool,
    function_tool,
)
from agents.memory import OpenAIResponsesCompactionSession
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.system.clients.model import Call, Model, Turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUIET = RunConfig(tracing_disabled=True)
ADDING = (Turn(calls=(Call("add", {"x": 1, "y": 2}),)), Turn("three"))


class Place(BaseModel):
    name: str


@function_tool
def add(x: int, y: int) -> str:
    """Add two numbers."""
    return f"the sum is {x + y}"


def agent(sdk: AsyncOpenAI, **described: Any) -> Agent:
    model = OpenAIResponsesModel(model="fake-model", openai_client=sdk)
    return Agent(**{"name": "pilot", "model": model, **described})


async def drain(agent: Agent, text: str) -> tuple[Any, list[str]]:
    """The final output of a streamed run, and the names of what its items were."""
    run = Runner.run_streamed(agent, text, run_config=QUIET)
    names: list[str] = [
        event.name async for event in run.stream_events() if event.type == "run_item_stream_event"
    ]
    return run.final_output, names


async def test_an_agent_answers(sdk: AsyncOpenAI, model: Model) -> None:
    run = await Runner.run(agent(sdk, instructions="Be brief."), "hi", run_config=QUIET)
    assert run.final_output == "pong"
    assert [message["content"] for message in model.requests[-1]["messages"]] == ["Be brief.", "hi"]


async def test_an_agent_streams(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn("Good morning, Dover."))
    assert await drain(agent(sdk), "hi") == ("Good morning, Dover.", ["message_output_created"])


async def test_a_tool_is_run(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(*ADDING)
    run = await Runner.run(agent(sdk, tools=[add]), "hi", run_config=QUIET)
    assert run.final_output == "three"
    assert model.requests[-1]["messages"][-1]["content"] == "the sum is 3"


async def test_a_streamed_tool_is_run(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(*ADDING)
    assert await drain(agent(sdk, tools=[add]), "hi") == (
        "three",
        ["tool_called", "tool_output", "message_output_created"],
    )
    assert model.requests[-1]["messages"][-1]["content"] == "the sum is 3"


async def test_one_agent_hands_off_to_another(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn(calls=(Call("transfer_to_bob", {}),)), Turn("I am Bob."))
    run = await Runner.run(agent(sdk, handoffs=[agent(sdk, name="bob")]), "hi", run_config=QUIET)
    assert (run.last_agent.name, run.final_output) == ("bob", "I am Bob.")
    assert model.offered_to(0) == ["transfer_to_bob"]


async def test_an_answer_has_the_requested_type(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn('{"name": "Dover"}'))
    run = await Runner.run(agent(sdk, output_type=Place), "hi", run_config=QUIET)
    assert run.final_output == Place(name="Dover")
    assert model.requests[-1]["response_format"]["json_schema"]["schema"]["required"] == ["name"]


async def test_a_session_keeps_its_turns_in_a_conversation(sdk: AsyncOpenAI, model: Model) -> None:
    session = OpenAIConversationsSession(openai_client=sdk)
    for stated in ("one", "two"):
        await Runner.run(agent(sdk), stated, session=session, run_config=QUIET)
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "one",
        "pong",
        "two",
    ]
    assert len(await session.get_items()) == 4
    await session.pop_item()
    assert len(await session.get_items()) == 3
    await session.clear_session()


async def test_a_run_goes_on_from_the_one_before(sdk: AsyncOpenAI, model: Model) -> None:
    first = await Runner.run(agent(sdk), "one", run_config=QUIET)
    await Runner.run(
        agent(sdk), "two", previous_response_id=first.last_response_id, run_config=QUIET
    )
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "one",
        "pong",
        "two",
    ]


async def test_turns_are_chained_by_themselves(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(*ADDING)
    run = await Runner.run(
        agent(sdk, tools=[add]), "one", auto_previous_response_id=True, run_config=QUIET
    )
    assert run.final_output == "three"
    assert [message["role"] for message in model.requests[-1]["messages"]] == [
        "user",
        "assistant",
        "tool",
    ]


async def test_a_conversation_is_named_by_its_id(sdk: AsyncOpenAI, model: Model) -> None:
    conversation = await sdk.conversations.create()
    for stated in ("one", "two"):
        await Runner.run(agent(sdk), stated, conversation_id=conversation.id, run_config=QUIET)
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "one",
        "pong",
        "two",
    ]


async def test_an_agent_works_over_a_websocket(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(*ADDING)
    over = OpenAIResponsesWSModel(model="fake-model", openai_client=sdk)
    try:
        run = await Runner.run(agent(sdk, model=over, tools=[add]), "hi", run_config=QUIET)
    finally:
        await over.close()
    assert run.final_output == "three"
    assert model.requests[-1]["messages"][-1]["content"] == "the sum is 3"


async def test_tools_that_cannot_be_run_here_do_not_keep_the_others_from_it(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(*ADDING)
    tools = [
        WebSearchTool(),
        CodeInterpreterTool(
            tool_config={"type": "code_interpreter", "container": {"type": "auto"}}
        ),
        add,
    ]
    run = await Runner.run(agent(sdk, tools=tools), "hi", run_config=QUIET)
    assert run.final_output == "three"
    assert model.offered_to(0) == ["add"]


async def test_a_session_is_compacted(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn("Good morning, Ada."), Turn("The user's name is Ada."), Turn("You are Ada."))
    stored = SQLiteSession("ada")
    session = OpenAIResponsesCompactionSession(
        "ada",
        stored,
        client=sdk,
        model="gpt-5",
        should_trigger_compaction=lambda context: len(model.requests) == 1,
    )
    await Runner.run(agent(sdk), "I am Ada.", session=session, run_config=QUIET)
    kinds = [item.get("type", "message") for item in await session.get_items()]
    run = await Runner.run(agent(sdk), "Who am I?", session=session, run_config=QUIET)

    assert "compaction" in kinds
    assert len(model.requests) == 3
    assert "The user's name is Ada." in json.dumps(model.requests[-1]["messages"])
    assert run.final_output == "You are Ada."
    stored.close()
