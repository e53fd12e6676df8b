"""What happens in a simulation: what clients do, and what breaks. A plan can lose parts and still
be run, which is how a failure shrinks.
"""

import random
from dataclasses import dataclass, replace

LENGTH = 90.0
"""Seconds in which clients begin something and things break."""

CLIENTS = ("plain", "stream", "poll", "resume", "cancel", "stop", "keyed", "chain", "talk", "crowd")

ACT = "act"
"""The client of an agent."""

RECEIVER = "receiver"
"""The fault of a receiver of webhooks."""

FAULTS = (
    *("kill", "kill", "stop", "pause", "skew", "backend_down", "moods"),
    *("store_slow", "store_fails", "store_mute", "store_kills", "weather"),
)


DISTURBING = ("kill", "stop", "pause", "store_slow", "store_fails", "store_mute", "store_kills")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a client does, or that breaks, at a time in seconds from the start."""

    number: int
    at: float
    kind: str
    where: int
    """Which server or backend, modulo their number."""
    size: float
    """Between 0 and 1: how long, or how bad."""

    def __str__(self) -> str:
        return f"{self.number:4}  {self.at:7.2f} s  {self.kind:13} {self.where}  {self.size:.3f}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A simulation. Everything that is not in it follows from the seed."""

    seed: int
    servers: int
    is_fair: bool
    """Whether tasks run in asyncio's order."""
    reads_at_once: bool
    latency: float
    """Of the store."""
    has_keys: bool
    """Whether clients have API keys."""
    has_agents: bool
    has_webhooks: bool
    events: tuple[Event, ...]

    @property
    def is_calm(self) -> bool:
        """Whether no process is disturbed, and the store never fails."""
        return not any(event.kind in DISTURBING for event in self.events)

    @property
    def setting(self) -> str:
        """Describe what is not an event."""
        order = "asyncio's order" if self.is_fair else "any order"
        reads = "reads at once" if self.reads_at_once else "reads that take time"
        keys = ", API keys" if self.has_keys else ""
        keys += ", agents" if self.has_agents else ""
        keys += ", webhooks" if self.has_webhooks else ""
        return f"{self.servers} servers, {order}, {reads}, a store of {self.latency:g} s{keys}"

    def only(self, numbers: frozenset[int]) -> "Plan":
        """Return the plan with these events alone."""
        events = tuple(event for event in self.events if event.number in numbers)
        return replace(self, events=events)


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    dice = random.Random(f"plan {seed}")
    calm = dice.random() < 0.1
    clients = dice.randrange(4, 40)
    faults = 0 if calm else dice.randrange(1, 14)
    kinds = [dice.choice(CLIENTS) for _ in range(clients)]
    # Some kinds of faults alone: many at once can hide each other.
    possible = dice.sample(FAULTS, dice.randrange(1, len(FAULTS)))
    kinds += [dice.choice(possible) for _ in range(faults)]
    burst = dice.random() < 0.3
    events = []
    for number, kind in enumerate(kinds):
        at = dice.random() * (LENGTH / 10 if burst and kind in CLIENTS else LENGTH)
        events.append(Event(number, at, kind, dice.randrange(12), dice.random()))
    # Drawn from other dice, so that a seed has the same events as without them.
    more = random.Random(f"more {seed}")
    has_agents, has_webhooks = more.random() < 0.4, more.random() < 0.4
    further = [ACT] * more.randrange(1, 7) * has_agents
    further += [RECEIVER] * more.randrange(3) * has_webhooks * (faults > 0)
    for number, kind in enumerate(further, len(kinds)):
        at, where, size = more.random() * LENGTH, more.randrange(12), more.random()
        events.append(Event(number, at, kind, where, size))
    return Plan(
        seed,
        servers=dice.choice((1, 2, 2, 3)),
        is_fair=dice.random() < 0.3,
        reads_at_once=dice.random() < 0.6,
        latency=dice.choice((0.0, 0.002, 0.02, 0.2)),
        has_keys=dice.random() < 0.5,
        has_agents=has_agents,
        has_webhooks=has_webhooks,
        events=tuple(sorted(events, key=lambda event: event.at)),
    )
