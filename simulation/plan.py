"""What happens in a simulation: what clients do, and what breaks. A plan can lose parts and still
be run, which is how a failure shrinks.
"""

import random
from dataclasses import dataclass

LENGTH = 90.0
"""Seconds in which clients begin something and things break."""

CLIENTS = ("plain", "stream", "poll", "resume", "cancel", "keyed", "chain", "talk", "crowd")

FAULTS = (
    *("kill", "kill", "stop", "pause", "skew", "backend_down", "moods"),
    *("store_slow", "store_fails", "store_mute", "store_kills", "weather"),
)


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
    events: tuple[Event, ...]

    @property
    def setting(self) -> str:
        """Describe what is not an event."""
        order = "asyncio's order" if self.is_fair else "any order"
        reads = "reads at once" if self.reads_at_once else "reads that take time"
        return f"{self.servers} servers, {order}, {reads}, a store of {self.latency:g} s"

    def only(self, numbers: frozenset[int]) -> "Plan":
        """Return the plan with these events alone."""
        events = tuple(event for event in self.events if event.number in numbers)
        return Plan(self.seed, self.servers, self.is_fair, self.reads_at_once, self.latency, events)


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
    return Plan(
        seed,
        servers=dice.choice((1, 2, 2, 3)),
        is_fair=dice.random() < 0.3,
        reads_at_once=dice.random() < 0.6,
        latency=dice.choice((0.0, 0.002, 0.02, 0.2)),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )
