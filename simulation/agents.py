"""A durable agent in a simulation, and what its steps do outside of the store."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.agents import AgentContext, StepInterrupted, agent
from antiphon.agents.execution import AgentWorker

AGENT = "clerk"

LONGEST = 2.0
"""The longest time of each half of a step, in seconds."""


@dataclass(slots=True)
class Deeds:
    """What the steps of all processes did, by the question of the response."""

    dice: random.Random
    reads: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    paid: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    reports: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    async def _work(self) -> None:
        await asyncio.sleep(self.dice.random() ** 2 * LONGEST)

    async def read(self, question: str) -> int:
        """Return something else each time."""
        await self._work()
        self.reads[question].append(len(self.reads[question]) + 1)
        await self._work()
        return self.reads[question][-1]

    async def pay(self, question: str) -> str:
        """Do what may not be done twice."""
        await self._work()
        self.paid[question] += 1
        await self._work()
        return "paid"

    async def report(self, question: str, found: int, outcome: str) -> None:
        """Note what the earlier steps returned."""
        self.reports[question].append((found, outcome))
        await self._work()


def worker_of(deeds: Deeds) -> AgentWorker:
    """Return the worker of a process: it runs the agent, and the background responses of
    models.
    """

    @agent(AGENT)
    async def clerk(ctx: AgentContext) -> str:
        question = ctx.input_text
        found = await ctx.step("read", deeds.read, question)
        try:
            outcome = await ctx.step("pay", deeds.pay, question, once=True)
        except StepInterrupted:
            outcome = "unknown"
        await ctx.step("report", deeds.report, question, found, outcome)
        return f"{question} {found} {outcome}"

    return AgentWorker([clerk], runs_models=True)


def misdeeds(question: str, text: str, deeds: Deeds, *, is_calm: bool) -> Iterator[str]:
    """Yield what is wrong with a completed response of the agent. It `is_calm` if no process died
    and the store never failed.
    """
    reports = deeds.reports[question]
    if not reports:
        yield f"the agent completed {question} without its last step"
        return
    found, outcome = reports[0]
    if any(one != reports[0] for one in reports):
        yield f"the steps of {question} returned different results: {reports}"
    if text != f"{question} {found} {outcome}" or found not in deeds.reads[question]:
        yield f"the agent answered {text!r} after {reports}"
    if outcome == "paid" and not deeds.paid[question]:
        yield f"the agent says that {question} is paid, and it is not"
    if is_calm and (outcome != "paid" or len(deeds.reads[question]) > 1):
        yield f"the steps of {question} did not run once each: {deeds.reads[question]}, {outcome}"


def repeated(deeds: Deeds) -> Iterator[str]:
    """Yield each step that ran twice and may run once."""
    for question, count in deeds.paid.items():
        if count > 1:
            yield f"{question} was paid {count} times"
