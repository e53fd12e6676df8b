"""The paths of agents: what each scenario of `bench/agents` costs, in this thread and in those of large bodies."""

import asyncio
from pathlib import Path

from bench.agents.conversation import Conversation
from bench.agents.scenarios import SCENARIOS, ways
from bench.trace.counter import CallCounter
from bench.trace.loopback import STEPS, Client, SteppedBackend
from bench.trace.scenarios import Costs, cheapest, connected, lone_delta

BURST = "chunks"
"""The model of the paths; a stream of it comes in few reads."""

LONE_DELTA = "one tool, lone delta"

WARM_UP, SAMPLES = 2, 4
"""Requests of each path before any is counted, and those that are: few, because some make 40,000 calls."""


async def trace_agents(folder: Path) -> dict[str, Costs]:
    """Return what each path costs, with a store in this folder."""
    counter = CallCounter()
    with counter.in_threads():
        async with connected(folder, facts=False) as client:
            return await asyncio.create_task(_trace(client, counter))


async def _trace(client: Client, counter: CallCounter) -> dict[str, Costs]:
    costs: dict[str, Costs] = {}
    for way in ways():
        if way.scenario == "no tool":  # that is an ordinary path
            continue
        one = Conversation(client, SCENARIOS[way.scenario](), model=BURST, stream=way.stream, store=way.store)
        costs[way.name] = await cheapest(one.send, counter, before=one.begin, warm_up=WARM_UP, samples=SAMPLES)
    alone = Conversation(client, SCENARIOS["one tool"](), model=STEPS, stream=True)

    async def stepped(deltas: int) -> None:
        SteppedBackend.deltas = deltas
        await alone.begin()
        await alone.send()

    costs[LONE_DELTA] = await lone_delta(stepped)
    return costs
