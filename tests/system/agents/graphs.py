"""Graphs of LangGraph, killed at each write, and read by the official client. `test_langgraph.py`
runs these tests where LangGraph is installed.
"""

import asyncio
import random
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from antiphon.agents.langgraph import call, chat_model, durable_tool, langgraph
from antiphon.build import demo_backend
from antiphon.testing.agents import AgentHarness
from antiphon.types import Response
from tests.support.server import serve
from tests.support.waiting import eventually, let_others_run

sys.path.insert(0, str(Path(__file__).parents[3] / "examples/agent"))

from writer import writer


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
async def lookup(order: str) -> str:
    """Look an order up."""
    await let_others_run(random.randrange(20))
    return f"order {order}"


@tool
async def pay(order: str) -> str:
    """Refund an order."""
    await let_others_run(random.randrange(20))
    return f"paid {order}"


@tool
def pay_in_a_thread(order: str) -> str:
    """Refund an order."""
    return f"paid {order}"


async def think(state: State) -> dict[str, Any]:
    """Calls both tools, side by side; then repeats their results."""
    results = [one.content for one in state["messages"] if isinstance(one, ToolMessage)]
    if results:
        return {"messages": [AIMessage("; ".join(map(str, results)))]}
    calls = [
        {"name": name, "args": {"order": "1"}, "id": f"call_{name}"} for name in ("lookup", "pay")
    ]
    return {"messages": [AIMessage("One moment.", tool_calls=calls)]}


def support() -> "StateGraph[Any]":
    graph = StateGraph(State)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([durable_tool(lookup), durable_tool(pay, once=True)]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph


def outline(response: Response) -> list[str]:
    return [
        f"{item.name} -> {item.output}"
        if item.type == "mcp_call"
        else "".join(part.text for part in item.content)
        for item in response.output
        if item.type in {"mcp_call", "message"}
    ]


async def test_the_output_has_the_messages_and_the_calls_of_tools() -> None:
    tested = AgentHarness(langgraph(support(), name="tested"))
    response = await asyncio.to_thread(tested.run, "go")

    assert outline(response) == [
        "One moment.",
        "lookup -> order 1",
        "pay -> paid 1",
        "order 1; paid 1",
    ]


@pytest.mark.parametrize("seed", range(3))
async def test_a_crash_repeats_at_most_what_was_running(seed: int) -> None:
    random.seed(seed)
    tested = AgentHarness(langgraph(support(), name="tested"))
    found = await asyncio.to_thread(tested.kill_everywhere, "go")

    assert found.differing == []
    assert found.executions["call:call_pay/pay/0"] == 1, "at most once"
    assert found.executions["call:call_lookup/lookup/0"] == 2, "at least once"
    assert all("outcome is unknown" in one for one in found.interrupted)


def answering(emit: Any = "text") -> "StateGraph[Any]":
    """A model of this server that calls both tools, and then repeats their results."""
    tools = [durable_tool(lookup), durable_tool(pay, once=True)]
    model = chat_model("demo", emit=emit).bind_tools(tools)

    async def answer(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", tools_condition)
    graph.add_edge("tools", "answer")
    return graph


CALLS = 'call lookup {"order": "1"}\ncall pay {"order": "1"}'


async def test_the_messages_of_a_chat_model_are_sent_as_they_are_generated() -> None:
    """Each text is in one item, whose deltas come before the step of the graph has ended."""
    agents = [langgraph(answering(emit), name=emit) for emit in ("text", "nothing")]
    texts, deltas = [], []
    async with serve(demo_backend(), agents=agents) as server:

        async def names() -> Any:
            return server.parts.jobs.agents.names

        await eventually(names, lambda found: "text" in found)
        for model in ("text", "nothing"):
            stream = await server.sdk.responses.create(model=model, input=CALLS, stream=True)
            events = [event async for event in stream]
            last: Any = events[-1]
            texts.append(outline(last.response))
            deltas.append(sum(event.type == "response.output_text.delta" for event in events))
            chained = await server.sdk.responses.create(
                model=model, input="Again", previous_response_id=last.response.id
            )
            assert [one.type for one in chained.output] == ["message"]

    assert texts[0] == texts[1]
    assert [one.split(" -> ")[0] for one in texts[0][:2]] == ["lookup", "pay"]
    assert len(texts[0]) == 3
    assert deltas[0] > deltas[1] == 1, "as they are generated, and at once"


@pytest.mark.parametrize("emit", ["text", "nothing"])
async def test_the_messages_of_a_chat_model_are_sent_once_after_a_crash(emit: str) -> None:
    tested = AgentHarness(langgraph(answering(emit), name="tested"))
    found = await asyncio.to_thread(tested.kill_everywhere, CALLS)

    assert found.differing == []
    assert found.writes >= 5
    pays = [count for key, count in found.executions.items() if "/pay/" in key]
    assert set(pays) == {1}, "at most once"


async def test_a_chat_model_returns_structured_output() -> None:
    class Verdict(BaseModel):
        is_valid: bool

    async def judge(state: State) -> dict[str, Any]:
        model = chat_model("demo", emit="nothing").with_structured_output(Verdict)
        found = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(type(found).__name__)]}

    graph = StateGraph(State)
    graph.add_node("judge", judge)
    graph.add_edge(START, "judge")
    graph.add_edge("judge", END)
    tested = AgentHarness(langgraph(graph, name="tested"))

    assert outline(await asyncio.to_thread(tested.run, "Is it?")) == ["Verdict"]


async def test_a_chat_model_is_refused_where_nothing_is_durable() -> None:
    with pytest.raises(RuntimeError, match="only while"):
        await chat_model("demo").ainvoke("Hello")
    with pytest.raises(NotImplementedError, match="ainvoke"):
        chat_model("demo").invoke("Hello")


@pytest.mark.parametrize(("answer", "expected"), [(True, "Published"), (False, "Not published.")])
async def test_an_interrupt_waits_for_the_client(answer: bool, expected: str) -> None:
    tested = AgentHarness(writer)
    found = await asyncio.to_thread(tested.kill_everywhere, "Hello", answers={"publish": answer})
    response = await asyncio.to_thread(tested.run, "Hello", answers={"publish": answer})

    assert found.differing == []
    assert outline(response)[-1].startswith(expected)


async def test_a_chain_continues_with_the_state_and_a_fork_with_that_of_its_beginning() -> None:
    async def count(state: dict[str, Any]) -> dict[str, Any]:
        turns = state.get("turns", 0) + 1
        text = f"turn {turns}, {len(state['messages'])} messages"
        return {"turns": turns, "messages": [AIMessage(text)]}

    class Counted(State):
        turns: int

    graph = StateGraph(Counted)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    async with serve(demo_backend(), agents=[langgraph(graph.compile(), name="count")]) as server:

        async def names() -> Any:
            return server.parts.jobs.agents.names

        await eventually(names, lambda found: "count" in found)
        create = server.sdk.responses.create
        first = await create(model="count", input="one")
        second = await create(model="count", input="two", previous_response_id=first.id)
        fork = await create(model="count", input="three", previous_response_id=first.id)
        stream = await create(
            model="count", input="four", previous_response_id=second.id, stream=True
        )
        events = [event async for event in stream]

    assert first.output_text == "turn 1, 1 messages"
    assert second.output_text == fork.output_text == "turn 2, 3 messages"
    assert events[-1].response.output_text == "turn 3, 5 messages"


@pytest.mark.parametrize(
    ("graph", "reason"),
    [(support().compile(checkpointer=InMemorySaver()), "checkpointer"), ("graph", "not a str")],
)
def test_other_graphs_are_refused(graph: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        langgraph(graph, name="a")


def test_a_synchronous_tool_cannot_run_at_most_once() -> None:
    with pytest.raises(TypeError, match="async function"):
        durable_tool(pay_in_a_thread, once=True)


async def test_outside_a_response_a_tool_does_what_it_did_before() -> None:
    assert await durable_tool(pay, once=True).ainvoke({"order": "9"}) == "paid 9"
    with pytest.raises(RuntimeError, match="only while"):
        await call("demo", "Hello")
