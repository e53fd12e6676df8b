"""Agents: what a step costs, and how soon the first event comes. Each worker is a process."""

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.agents import AgentContext, agent
from antiphon.storage.open import open_store
from antiphon.storage.operations import leases
from bench import jobs
from bench.process import Program, line, running

STEPS = 200
"""Steps of one response."""

AT_ONCE = 32
"""Responses of which all run beside each other."""

SHARED_STEPS = 20
"""Steps of each of those."""

FIRSTS = 30
"""Foreground responses, one after the other, for the first event."""

COMMITS = 200
"""Bare writes, which the steps are compared with."""


async def nothing(number: int) -> int:
    """Do the work of a step that costs nothing itself."""
    return number


@agent("steps")
async def steps(ctx: AgentContext) -> str:
    """Take as many steps as the input says."""
    for number in range(int(ctx.input_text)):
        await ctx.step("nothing", nothing, number)
    return "done"


@contextmanager
def worker(store: str) -> Iterator[Program]:
    """Run a worker of a store, with room for all responses."""
    command = [sys.executable, "-m", "antiphon", "worker", f"{__name__}:steps", "--store", store]
    with running([*command, "--concurrency", str(2 * AT_ONCE)]) as program:
        line(program)
        yield program


async def listed(port: int) -> None:
    """Return once the server knows the agent."""
    async with jobs.client(port) as ours, asyncio.timeout(jobs.PATIENCE):
        while not await ours.lists("steps"):  # noqa: ASYNC110 - it must be asked for
            await asyncio.sleep(jobs.POLL_INTERVAL)


async def run(port: int, count: int, steps: int) -> float:
    """Have so many responses made with so many steps; return the seconds of all."""
    async with jobs.client(port, 2 * count) as ours:
        began = time.perf_counter()
        ids = await asyncio.gather(
            *(ours.begin("steps", stream=False, text=str(steps)) for _ in range(count))
        )
        await asyncio.gather(*(ours.wait_for(response_id, "completed") for response_id in ids))
        return time.perf_counter() - began


async def first_event(port: int) -> float:
    """Return the median seconds until a client that waits has the first event of its stream."""
    async with jobs.client(port) as ours:
        return statistics.median([await ours.first_event("steps", "1") for _ in range(FIRSTS)])


async def bare_commits(store: str) -> float:
    """Return how many writes of one row each the store takes in a second, one after the other."""
    opened = await open_store(store)
    try:
        began = time.perf_counter()
        for _ in range(COMMITS):
            await opened.write(leases.beat, "bench")
        return COMMITS / (time.perf_counter() - began)
    finally:
        await opened.close()
