"""Metrics of agents: what this process runs, and their queues over all workers of the store."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from antiphon.status.agent_status import AgentsStatus, AgentStatus
from antiphon.telemetry.kinds import Labels, ObservedNumbers
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.observers import AgentAttempt, Observer, StepUse

MOST_AGENTS = 200
"""Agents with metrics."""

OLDEST = "Time since the first of the waiting responses was created; 0 if none waits."
BUSY = "Places of all workers that are in use."


@dataclass(slots=True)
class AgentMetrics(Observer):
    """Counts attempts of agents and their steps."""

    measures: Measures

    def agent_began(self, attempt: AgentAttempt) -> None:
        """See `Observer.agent_began`."""
        kind = "takeover" if attempt.is_takeover else "first" if attempt.number == 1 else "resumed"
        self.measures.agent_attempts.add(attempt.agent, kind)
        if attempt.number == 1:
            self.measures.agent_wait.observe(attempt.waited, attempt.agent)

    def step_ended(self, use: StepUse) -> None:
        """See `Observer.step_ended`."""
        state = "recorded" if use.is_recorded else "failed" if use.error else "done"
        self.measures.agent_steps.add(use.attempt.agent, state)

    def agent_ended(self, attempt: AgentAttempt) -> None:
        """See `Observer.agent_ended`."""
        self.measures.agent_runs.add(attempt.agent, attempt.end)


def agent_metrics(agents: AgentsStatus | None) -> list[ObservedNumbers]:
    """Return the gauges; without numbers if there are no agents."""
    counted = [] if agents is None else agents.agents[:MOST_AGENTS]
    workers = [] if agents is None else agents.workers

    def each(name: str, text: str, of: Callable[[AgentStatus], float]) -> ObservedNumbers:
        known: Mapping[Labels, float] = {(one.name,): float(of(one)) for one in counted}
        return ObservedNumbers(f"antiphon_agent_{name}", text, "agent", poll_once=lambda: known)

    def total(name: str, text: str, value: int) -> ObservedNumbers:
        known: Mapping[Labels, float] = {(): float(value)} if workers else {}
        return ObservedNumbers(f"antiphon_agent_{name}", text, poll_once=lambda: known)

    return [
        each("workers", "Living workers of an agent.", lambda one: one.workers),
        each("running", "Responses of an agent that run.", lambda one: one.running),
        each("waiting", "Responses of an agent in the queue.", lambda one: one.waiting),
        each("oldest_wait_seconds", OLDEST, lambda one: one.oldest_wait),
        total("places", "Places of all workers.", sum(one.places for one in workers)),
        total("places_busy", BUSY, sum(one.running for one in workers)),
    ]
