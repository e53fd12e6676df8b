"""What the store knows about the agents of all workers."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct


class AgentOffer(Struct, frozen=True):
    """An agent that a worker serves."""

    name: str
    version: str = "1"
    description: str = ""
    accepts: Sequence[str] = ()
    """Parameters that it accepts, besides those that each agent accepts."""
    places: int = 0
    """Responses that its worker runs at the same time, of all its agents; 0 if it did not say."""


offers_of = msgspec.json.Decoder(list[AgentOffer]).decode
"""Reads what a worker announces."""


def announced(offers: Iterable[AgentOffer]) -> str:
    """Return offers as a worker announces them."""
    return msgspec.json.encode(list(offers)).decode()


PIN = "\n"
"""Separates an agent and a version in the name of a queue: neither contains it."""


def pinned_queue(agent: str, version: str) -> str:
    """Return the queue of an agent's responses that only workers of this version continue."""
    return f"{agent}{PIN}{version}"


def pin_of(queue: str) -> tuple[str, str] | None:
    """Return the agent and the version of such a queue; None for another queue."""
    agent, separator, version = queue.partition(PIN)
    return (agent, version) if separator else None


def agent_of(queue: str) -> str:
    """Return the agent of a queue, pinned to a version or not."""
    return queue.partition(PIN)[0]


class AgentQueue(Struct, frozen=True):
    """The responses of an agent that wait for a worker."""

    waiting: int
    oldest: int
    """Seconds since the first of them was created."""


class AgentLoad(Struct, frozen=True):
    """The load of all agents."""

    offered: Mapping[str, Sequence[AgentOffer]]
    """What each living worker announces, by the worker's name."""
    queues: Mapping[str, AgentQueue]
    """By agent; without those that have no waiting response."""
    running: Sequence[tuple[str, str, int]]
    """A worker, an agent, and how many of its responses run there."""
