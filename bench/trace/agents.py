"""The paths of agents: what each scenario of `bench/agents` costs, in this thread and in those of
large bodies.
"""

import asyncio
from pathlib import Path

from bench.agents.conversation import Conversation
from bench.agents.scenarios import SCENARIOS, ways
from bench.trace.counter import CallCounter
from bench.trace.loopback import STEPS, Client, SteppedBackend, settle
from bench.trace.scenarios import Costs, cheapest, connected, lone_delta

BURST = "chunks"
"""The model of the paths; a stream of it comes in few reads."""

LONE_DELTA = "one tool, lone delta"

WARM_UP, SAMPLES = 2, 10
"""Requests of each path before any is counted, and those that are. On a busy machine, the store
often writes a response in two steps instead of one; some write in one.
"""

CALM, MOST = 8, 200
"""A server has started when so many requests in a row cost the same. It is counted anyway after so
many requests.
"""


async def trace_agents(folder: Path) -> dict[str, Costs]:
    """Return what each path costs, with a store in this folder."""
    counter = CallCounter()
    with counter.in_threads():
        async with connected(folder, facts=False) as client:
            return await asyncio.create_task(_trace(client, counter))


async def _trace(client: Client, counter: CallCounter) -> dict[str, Costs]:
    await _started(client, counter)
    costs: dict[str, Costs] = {}
    for way in ways():
        if way.scenario == "no tool":  # that is an ordinary path
            continue
        one = Conversation(
            client, SCENARIOS[way.scenario](), model=BURST, stream=way.stream, store=way.store
        )
        costs[way.name] = await cheapest(
            one.send, counter, before=one.begin, warm_up=WARM_UP, samples=SAMPLES
        )
    alone = Conversation(client, SCENARIOS["one tool"](), model=STEPS, stream=True)

    async def stepped(deltas: int) -> None:
        SteppedBackend.deltas = deltas
        await alone.begin()
        await alone.send()

    costs[LONE_DELTA] = await lone_delta(stepped)
    return costs


async def _started(client: Client, counter: CallCounter) -> None:
    """Wait until the server has started: on a slow machine, its first purge of the store went on
    during 12 requests.
    """
    one = Conversation(client, SCENARIOS["no tool"](), model=BURST, stream=False)
    last = 0
    same = 0
    for _ in range(MOST):
        await one.begin()
        await settle()
        with counter.counting():
            await one.send()
            await settle()
        calls = counter.take().total()
        last, same = calls, same + 1 if calls == last else 0
        if same == CALM:
            return
