"""The agents of all workers of a store, and their queues, for the status and the metrics."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from antiphon.storage.records.agents import AgentLoad, AgentOffer, AgentQueue

NO_QUEUE = AgentQueue(0, 0)


class AgentStatus(Struct, kw_only=True):
    """One agent, over all workers."""

    name: str
    workers: int
    """Living workers that serve it."""
    versions: Sequence[str]
    """Their versions of its code."""
    running: int
    waiting: int
    oldest_wait: int
    """Seconds since the first of the waiting responses was created; 0 if none waits."""


class AgentWorkerStatus(Struct, kw_only=True):
    """One living worker that serves agents."""

    name: str
    agents: Sequence[str]
    running: int
    """Its places that are in use."""
    places: int


class AgentsStatus(Struct, kw_only=True):
    """The agents of a store, and the workers that serve them."""

    agents: Sequence[AgentStatus]
    workers: Sequence[AgentWorkerStatus]


def agents_of(load: AgentLoad) -> AgentsStatus | None:
    """Return the agents of a load; None without agents.

    An agent without a worker is one of them as long as a response of it waits.
    """
    offers = load.offered
    names = {one.name for offered in offers.values() for one in offered} | {*load.queues}
    if not names:
        return None
    return AgentsStatus(
        agents=[_agent(name, offers, load) for name in sorted(names)],
        workers=[
            AgentWorkerStatus(
                name=worker,
                agents=[one.name for one in offered],
                running=sum(count for owner, _, count in load.running if owner == worker),
                places=max((one.places for one in offered), default=0),
            )
            for worker, offered in offers.items()
        ],
    )


def _agent(name: str, offers: Mapping[str, Sequence[AgentOffer]], load: AgentLoad) -> AgentStatus:
    own = [one for offered in offers.values() for one in offered if one.name == name]
    queue = load.queues.get(name, NO_QUEUE)
    return AgentStatus(
        name=name,
        workers=len(own),
        versions=sorted({one.version for one in own}),
        running=sum(count for _, agent, count in load.running if agent == name),
        waiting=queue.waiting,
        oldest_wait=queue.oldest,
    )
