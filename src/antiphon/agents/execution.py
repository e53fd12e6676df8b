"""Prepares an attempt of an agent: its request, its history, and its journal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from inspect import unwrap
from traceback import walk_stack
from types import FrameType

from antiphon.agents.agent_run import AgentRun
from antiphon.agents.errors import interrupted
from antiphon.agents.inheritance import (
    AgentInput,
    inherited_input,
    journal_of,
    state_of,
)
from antiphon.agents.journal import Journal
from antiphon.agents.recorder import AgentRecorder
from antiphon.agents.registration import Agent
from antiphon.errors import ConfigError
from antiphon.history.history_memory import HistoryMemory
from antiphon.jobs.known_agents import without_declaration
from antiphon.jobs.parts import JobParts
from antiphon.jobs.pins import version_unavailable
from antiphon.jobs.queue import job_origin, restore, retention_of, run_job
from antiphon.jobs.recorder import OutdatedJobError
from antiphon.jobs.worker import Worker
from antiphon.runs.prepare import gather, open_response, view_of
from antiphon.storage.operations import jobs, leases
from antiphon.storage.records.agents import AgentOffer, agent_of, announced, pinned_queue
from antiphon.storage.records.jobs import Job
from antiphon.translation.writer import ResponseWriter


class AgentWorker:
    """The agents of a process."""

    def __init__(
        self, agents: Iterable[Agent], places: int | None = None, *, runs_models: bool = False
    ) -> None:
        """Take agents, and with `runs_models` also the background responses of models.

        `places` are the responses that run at the same time, by default those of the settings.
        Raises `ConfigError` for two agents of one name.
        """
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            if agent.name in self._agents:
                raise ConfigError(f"Two agents have the name {agent.name!r}.")
            self._agents[agent.name] = agent
        self._places = places
        self._running: Counter[str] = Counter()
        self._runs_models = runs_models

    @property
    def names(self) -> Sequence[str]:
        """The names of the agents."""
        return list(self._agents)

    def join(self, worker: Worker) -> None:
        """Let a worker serve the agents, before it starts."""
        if self._places is not None:
            worker.concurrency = self._places
        own = [queue for one in self._agents.values() for queue in queues_of(one)]
        worker.queues = (*own, *([""] if self._runs_models else ()))
        worker.run = self._run
        offers = [
            AgentOffer(one.name, one.version, one.description, one.accepts, worker.concurrency)
            for one in self._agents.values()
        ]
        worker.announced = announced(offers)
        worker.parts.agents.add_own(offers)

    async def _run(self, parts: JobParts, job: Job) -> None:
        if not job.queue:
            await run_job(parts, job)
            return
        name = agent_of(job.queue)
        self._running[name] += 1
        try:
            await run_agent_job(parts, self._agents[name], job)
        finally:
            self._running[name] -= 1

    def blame(self, frame: FrameType) -> str:
        """Return which agent blocks the event loop, see `Blame`: the one with its handler in the
        stack, else those that run.
        """
        codes = [one.f_code for one, _ in walk_stack(frame)]
        names = [name for name, count in self._running.items() if count]
        found = [name for name in names if _code_of(self._agents[name]) in codes]
        if found or len(names) == 1:
            return f" by the agent {' or '.join(found or names)}"
        return f" while the agents {', '.join(names)} ran" if names else ""


def _code_of(agent: Agent) -> object:
    return getattr(unwrap(agent.handler), "__code__", None)


def queues_of(agent: Agent) -> Sequence[str]:
    """Return the queues of an agent's responses: new ones, and those pinned to its version."""
    return (agent.name, *([pinned_queue(agent.name, agent.version)] if agent.pinned else ()))


async def run_agent_job(parts: JobParts, agent: Agent, job: Job) -> None:
    """Run the response of an agent to its end, unless another process writes to it."""

    async def prepare(parts: JobParts, job: Job, intake: HistoryMemory) -> AgentRecorder:
        return await _prepare(parts, agent, job, intake)

    await run_job(parts, job, prepare)


async def _prepare(parts: JobParts, agent: Agent, job: Job, intake: HistoryMemory) -> AgentRecorder:
    request, resume = await restore(parts, job, intake)
    if job.crashes and not request.background:
        raise interrupted()
    tenant, run = job.response.tenant, parts.run
    context = await gather(run, request, tenant, work=resume.size, memory=intake.account)
    begun = await inherited_input(parts, job, request, intake) or AgentInput(
        job.response.id,
        without_declaration(request),
        context.items[: len(context.items) - len(context.input)],
        context.input,
        await state_of(parts, tenant, request.previous_response_id),
    )
    keyring = run.keyring
    writer = ResponseWriter(
        open_response(request, job.response.id, resume.created_at),
        run.new_id,
        run.now,
        lambda state: keyring.seal(state, tenant),
        view_of(request),
    )
    writer.resume(resume.stored, resume.next_number, len(resume.stored))
    writer.sealed.update(resume.sealed)
    if resume.begins:
        writer.begin()
    own = await journal_of(parts, tenant, job.response.id) if job.attempt > 1 else ()
    journal = Journal(own, job.attempt, agent.version, begun.inherited, parts.agent_limits)
    if agent.pinned:
        await _pin(parts, agent, job, journal.started_version, is_waited_for=not request.background)
    recorder = AgentRecorder(parts, job, retention_of(parts, request, tenant), journal)
    origin = job_origin(parts, job, request.model)
    recorder.run = AgentRun(
        *(parts, agent, job, request, begun, context, writer, journal, recorder, origin)
    )
    return recorder


async def _pin(
    parts: JobParts, agent: Agent, job: Job, version: str, *, is_waited_for: bool
) -> None:
    """Let only workers of the version that began a run continue it.

    Raises `OutdatedJobError` if that is another one: the job is left to its workers. Raises
    `AntiphonError` (`agent_version_gone`) if a client waits, and no such worker is running.
    """
    queue = pinned_queue(agent.name, version)
    if job.queue != queue and not await parts.store.write(jobs.pin, job, queue):
        raise OutdatedJobError
    if version == agent.version:
        return
    if is_waited_for:
        await parts.agents.refresh(parts.store)
        if (agent.name, version) not in parts.agents.versions:
            raise version_unavailable(agent.name, version)
    await parts.store.write(leases.give_back, parts.process.worker, job.response.id)
    raise OutdatedJobError
