"""Workers that SIGKILL ends before and after each write of a response, while another one continues.

Effects are counted in a file, outside of the store; the events are those that a reader saw who
resumes after each disconnection; webhooks are those that a receiver got.
"""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIConnectionError, AsyncOpenAI

from tests.support import pip
from tests.support.receiver import Receiver, receiving
from tests.support.waiting import until
from tests.system.agents.test_faults import expire_only_worker, follow, hold_stream
from tests.system.agents.test_killed_workers import SETTINGS, Workers, cluster, hold_webhook

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

EFFECT = """
from dies_at_a_write import fork_workers

def effect(name):
    with open("effects", "a") as file:
        file.write(name + "\\n")
    return name
"""

PLAIN = (
    EFFECT
    + """
import asyncio
from antiphon.agents import StepInterrupted, agent

@agent("tested")
async def tested(ctx):
    await ctx.step("look", effect, "look")
    async with ctx.message() as text:
        await text.write("Looked ")
        await text.write("up.")
    try:
        paid = await ctx.step("pay", effect, "pay", once=True, show=True)
    except StepInterrupted:
        paid = "unknown"
    async def beside(name):
        async with ctx.scope(name):
            return await ctx.step("beside", effect, name)
    await asyncio.gather(beside("left"), beside("right"))
    await ctx.call("demo", "Say it", emit="text")
    turn = (ctx.state or 0) + 1
    await ctx.save(turn)
    try:
        await ctx.step("mail", effect, "mail", once=True)
    except StepInterrupted:
        pass
    return f"{paid} in turn {turn}."

fork_workers()
"""
)

TOOLS = (
    EFFECT
    + """
async def look(order: str) -> str:
    "Look an order up."
    return effect("look")

async def pay(order: str) -> str:
    "Refund an order."
    return effect("pay")
"""
)

OPENAI_AGENTS = (
    TOOLS
    + """
from agents import Agent, function_tool
from antiphon.agents.openai_agents import openai_agents

tools = [function_tool(look), function_tool(pay)]
tested = openai_agents(Agent(name="a", model="demo", tools=tools), name="tested", once={"pay"})

fork_workers()
"""
)

PYDANTIC_AI = (
    TOOLS
    + """
from pydantic_ai import Agent
from antiphon.agents.pydantic_ai import pydantic_ai

agent = Agent()
agent.tool_plain(look)
agent.tool_plain(metadata={"once": True})(pay)
tested = pydantic_ai(agent, name="tested", model="demo")

fork_workers()
"""
)

LANGGRAPH = (
    TOOLS
    + """
from typing import Annotated, TypedDict
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from antiphon.agents.langgraph import call, durable_tool, langgraph

class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]

async def plan(state):
    calls = [{"name": name, "args": {"order": "1"}, "id": name} for name in ("look", "pay")]
    return {"messages": [AIMessage("One moment.", tool_calls=calls)]}

async def answer(state):
    found = await call("demo", str(state["messages"][-1].content))
    return {"messages": [AIMessage(found.output_text)]}

graph = StateGraph(State)
graph.add_node("plan", plan)
graph.add_node("tools", ToolNode([durable_tool(look), durable_tool(pay, once=True)]))
graph.add_node("answer", answer)
for step in ((START, "plan"), ("plan", "tools"), ("tools", "answer"), ("answer", END)):
    graph.add_edge(*step)
tested = langgraph(graph, name="tested")

fork_workers()
"""
)

CALLS = 'call look {"order": "1"}\ncall pay {"order": "1"}'
"""The model `demo` calls both tools, side by side."""

pytestmark = pytest.mark.timeout(300)

BEFORE_AND_AFTER = pytest.mark.parametrize("moment", ["before", "after"])
ROUNDS = pytest.mark.parametrize(
    "turn", [1, *(pytest.param(turn, marks=pytest.mark.nightly) for turn in (2, 3, 4, 5))]
)
ONCE_CHEAP = pytest.mark.parametrize(
    ("store_url", "moment"),
    [
        ("sqlite", "before"),
        *(
            pytest.param(store, moment, marks=pytest.mark.nightly)
            for store, moment in (
                ("sqlite", "after"),
                ("postgres", "before"),
                ("postgres", "after"),
            )
        ),
    ],
    indirect=["store_url"],
)
"""For frameworks, whose import needs more CPU than all deaths."""


async def read_to_its_end(stream: Any, seen: list[Any]) -> bool:
    """Add the events of a stream to those that were seen; return whether it came to its end."""
    try:
        async for event in stream:
            seen.append(event.to_dict())  # noqa: PERF401 - those before an error count too
    except (APIConnectionError, httpx2.HTTPError):
        return False
    return True


def content_of(item: Mapping[str, Any]) -> str:
    """Return the text of a message, or the output or error of a call."""
    if item["type"] == "mcp_call":
        return f"{item['name']}({item['arguments']}) -> {item['output'] or item['error']}"
    return "".join(part["text"] for part in item["content"])


def texts_of(seen: list[Any]) -> list[str]:
    """Return what the events say of each item; one that is opened again replaces what was said."""
    texts: dict[int, str] = {}
    for event in seen:
        index = event.get("output_index", -1)
        match event["type"]:
            case "response.output_item.added":
                texts[index] = ""
            case "response.output_text.delta":
                texts[index] += event["delta"]
            case "response.output_item.done" if event["item"]["type"] != "message":
                texts[index] = content_of(event["item"])
    return list(texts.values())


@dataclass
class Killing:
    """A server and its workers, of which each dies once."""

    folder: Path
    store: str
    client: AsyncOpenAI
    workers: Workers
    receiver: Receiver

    async def kill_everywhere(
        self, input: str, moment: str, *, chains: bool = False, **most: int
    ) -> int:
        """Kill a worker at each write of a run; return how many died.

        `most` is how often each effect of a run may take place. With `chains`, each run has the
        state of the one before, and says its turn.
        """
        plan, deaths = self.folder / "kill", 0
        expected, _ = await self._run(input)
        response = expected
        chain: dict[str, Any] = {}
        assert (expected.status, self._effects()) == ("completed", dict.fromkeys(most, 1))
        while True:
            plan.write_text(f"{deaths + 1} {moment}")
            if chains:
                chain = {"previous_response_id": response.id}
            response, seen = await self._run(input, **chain)
            self._hold(expected, response, seen, deaths + 2 if chains else 1)
            # A death during the delivery would delay that by a minute.
            await hold_webhook(self.receiver, response)
            found = self._effects()
            assert all(found[name] <= most[name] for name in most), (deaths + 1, found)
            if plan.exists():  # it had no such write, so its worker lives
                return deaths
            deaths += 1

    async def _run(self, input: str, **chain: Any) -> tuple[Any, list[Any]]:
        """Return a response, and the events that a reader saw of it."""
        create, plan = self.client.responses.create, self.folder / "kill"
        is_planned = plan.exists()

        def has_died() -> bool:
            return is_planned and not plan.exists()

        seen: list[Any] = []
        stream = await create(model="tested", input=input, background=True, stream=True, **chain)
        reading = asyncio.create_task(read_to_its_end(stream, seen))
        await until(lambda: reading.done() or has_died())
        if has_died():
            await self._replace_worker()
        if not await reading:
            await follow(self.client, seen)
        return await self.client.responses.retrieve(seen[0]["response"]["id"]), seen

    async def _replace_worker(self) -> None:
        output = self.workers.running[0].stdout
        assert output is not None
        assert await output.readline() == b"died\n"
        await expire_only_worker(self.store)
        await asyncio.to_thread((self.folder / "next").write_bytes, b"")
        assert b"runs the agents" in await output.readline()

    def _effects(self) -> Counter[str]:
        """Return how often each effect took place since the last call."""
        file = self.folder / "effects"
        found = Counter(file.read_text().split())
        file.unlink()
        return found

    def _hold(self, expected: Any, response: Any, seen: list[Any], turn: int) -> None:
        """The output is that of a run that was not killed, except its turn and what became unknown,
        and the reader saw it once.
        """
        hold_stream(seen, response)
        assert response.status == "completed"
        assert [one.type for one in response.output] == [one.type for one in expected.output]
        texts = [content_of(item.to_dict()) for item in response.output]
        for text, whole in zip(texts, map(content_of, expected.to_dict()["output"]), strict=True):
            turned = whole.replace("in turn 1.", f"in turn {turn}.")
            assert text == turned or "unknown" in text
        assert texts_of(seen) == texts


@asynccontextmanager
async def killing(
    folder: Path, store: str, agents: str, **variables: str
) -> AsyncIterator[Killing]:
    """A server, a worker that dies as planned, and a receiver of webhooks."""
    shutil.copy(HERE / "dies_at_a_write.py", folder)
    os.mkfifo(folder / "next")
    # Listed while no worker is known, which is so until the next heartbeat.
    settings = f'{SETTINGS}agents = ["tested"]\n'
    async with (
        receiving() as receiver,
        cluster(folder, store, agents, "tested", receiver, settings, **variables) as (
            client,
            workers,
        ),
    ):
        yield Killing(folder, store, client, workers, receiver)


@pytest.mark.rotating
@ROUNDS
@BEFORE_AND_AFTER
async def test_a_worker_that_dies_at_any_write_costs_no_effect_and_no_text(
    tmp_path: Path, store_url: str, moment: str, turn: int
) -> None:
    async with killing(tmp_path, store_url, PLAIN) as one:
        writes = await one.kill_everywhere(
            f"round {turn}", moment, chains=True, look=2, left=2, right=2, pay=1, mail=1
        )

    assert writes >= 9


@pytest.mark.rotating
@ONCE_CHEAP
@pytest.mark.parametrize("agents", [OPENAI_AGENTS, PYDANTIC_AI], ids=["agents", "pydantic_ai"])
async def test_agents_of_frameworks_survive_a_death_at_any_write(
    tmp_path: Path, store_url: str, agents: str, moment: str
) -> None:
    async with killing(tmp_path, store_url, agents) as one:
        assert await one.kill_everywhere(CALLS, moment, look=2, pay=1) >= 5


@pytest.mark.rotating
@ONCE_CHEAP
async def test_graphs_of_langgraph_survive_a_death_at_any_write(
    tmp_path: Path, store_url: str, moment: str
) -> None:
    commands = pip.install(HERE / "langgraph.txt", "langgraph")
    (packages,) = commands.parent.glob("lib/python*/site-packages")
    path = os.pathsep.join(map(str, (ROOT, ROOT / "src", packages)))
    async with killing(tmp_path, store_url, LANGGRAPH, PYTHONPATH=path) as one:
        assert await one.kill_everywhere("go", moment, look=2, pay=1) >= 5
