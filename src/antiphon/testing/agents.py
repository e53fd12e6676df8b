"""Runs your agent in a test, and ends it before and after each write to the store.

>>> from antiphon.agents import AgentContext, agent
>>> from antiphon.testing.agents import AgentHarness
>>> @agent("shout")
... async def shout(ctx: AgentContext) -> str:
...     return ctx.input_text.upper()
>>> AgentHarness(shout).run("hello").output[0].content[0].text
'HELLO'
>>> AgentHarness(shout).kill_everywhere("hello").differing
[]
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.agents.context import AgentContext
from antiphon.agents.execution import queues_of, run_agent_job
from antiphon.agents.records import PREFIX
from antiphon.agents.registration import Agent
from antiphon.build import Application, build, demo_backend
from antiphon.config import Settings
from antiphon.history.chain_cache import ChainCache
from antiphon.jobs.parts import JobParts
from antiphon.library.reading import read_object
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import FunctionCall
from antiphon.protocol.response import Response
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity, encode_json
from antiphon.storage.operations import jobs, leases, responses, steps
from antiphon.storage.records.agents import AgentOffer
from antiphon.storage.records.jobs import Job
from antiphon.storage.records.steps import Step
from antiphon.storage.store import Store
from antiphon.translation.writer import output_text
from antiphon.upstream.backend import Backend

TENANT = "harness"
RESPONSE = "resp_harness"
NOW = 1_800_000_000.0
"""The time of every run, so that runs can be compared."""

ClientAnswers = Mapping[str, bool | str]
"""Answers to an agent's questions, by the name of the call: see `AgentHarness.run`."""

NO_ANSWERS: ClientAnswers = {}


class RunOutcome(msgspec.Struct, frozen=True):
    """How one run ended."""

    response: Response
    """The last one."""
    outputs: Sequence[Mapping[str, Any]]
    """The items of all responses, without their IDs."""
    journal: Mapping[str, str]
    """The recorded result of each step, by its key."""
    executions: Mapping[str, int]
    """How often each step was executed."""


class Killed(msgspec.Struct, frozen=True):
    """What the runs that were killed had in common with the one that was not."""

    writes: int
    """Writes to the store; a run was killed before and after each."""
    differing: Sequence[str]
    """The runs with another result, and what differs in them."""
    interrupted: Sequence[str]
    """The runs in which a step with `once=True` had begun, so that its outcome was unknown, and the
    text of their output: the handler decides what it says then.
    """
    executions: Mapping[str, int]
    """How often each step was executed at most in one run."""


class AgentHarness:
    """Runs one agent in this process, on a store in memory. Each method runs an event loop of its
    own.

    The agent calls the models of `backends`, such as a `ScriptedBackend` with a function: each
    attempt must get the same answers. Without any there is the model `demo`.
    """

    def __init__(self, agent: Agent, backends: Sequence[Backend] = ()) -> None:
        self._agent = agent
        self._backends = backends
        self._executions: Counter[str] = Counter()

    def run(
        self,
        input: str | Sequence[Mapping[str, Any]],
        *,
        answers: ClientAnswers = NO_ANSWERS,
        **parameters: Any,
    ) -> Response:
        """Return the response to a request with this input and these parameters.

        If it ends with questions to the client, these are answered, by their names, and the last
        response of the run is returned: to an approval with True or with False, or with the reason
        of a rejection; to a function of the client with its output. Without answers to any of them,
        the response is returned that waits.
        """
        return asyncio.run(self._alone({"input": input, **parameters}, answers)).response

    def kill_everywhere(
        self,
        input: str | Sequence[Mapping[str, Any]],
        *,
        answers: ClientAnswers = NO_ANSWERS,
        **parameters: Any,
    ) -> Killed:
        """Run the request once, with the `answers` to its questions; then again for each write to
        the store, ending the worker before the write, and after it, while another one continues.
        """
        return asyncio.run(self._everywhere({"input": input, **parameters}, answers))

    async def _alone(self, request: Mapping[str, Any], answers: ClientAnswers) -> RunOutcome:
        async with self._open() as (application, _):
            return await self._outcome(application, request, answers)

    async def _everywhere(self, request: Mapping[str, Any], answers: ClientAnswers) -> Killed:
        async with self._open() as (application, store):
            expected = await self._outcome(application, request, answers)
            writes, most = store.writes, Counter(expected.executions)
            differing: list[str] = []
            interrupted: list[str] = []
            for number in range(1, writes + 1):
                for moment in ("before", "after"):
                    store.kill_at(number, moment)
                    found = await self._outcome(application, request, answers)
                    most |= Counter(found.executions)
                    place = f"killed {moment} write {number}"
                    if any(step.startswith("BEGUN") for step in found.journal.values()):
                        interrupted.append(f"{place}: {output_text(found.response)}")
                    elif difference := _difference(expected, found):
                        differing.append(f"{place}: {difference}")
            return Killed(writes, differing, interrupted, most)

    @asynccontextmanager
    async def _open(self) -> "AsyncIterator[tuple[Application, _MortalStore]]":
        application = await build(
            Settings(store="sqlite://"), {}, backends=list(self._backends) or [demo_backend()]
        )
        parts = application.parts.jobs
        parts.run.now = lambda: NOW
        offer = AgentOffer(self._agent.name, accepts=self._agent.accepts)
        parts.agents.names = {offer.name: offer}
        parts.store = store = _MortalStore(parts.store)  # type: ignore[assignment]
        try:
            yield application, store
        finally:
            await application.close()

    async def _outcome(
        self, application: Application, request: Mapping[str, Any], answers: ClientAnswers
    ) -> RunOutcome:
        """Run a request, and those with the answers to its questions."""
        store = application.parts.jobs.store
        application.parts.run.history.chains = ChainCache()  # the IDs are the same in each run
        self._executions.clear()
        outputs: list[dict[str, Any]] = []
        journal: dict[str, str] = {}
        names: list[str] = []
        while True:
            names.append(f"{RESPONSE}_{len(names)}" if names else RESPONSE)
            response = await self._responded(application, request, names[-1])
            outputs += _output(response)
            journal |= _comparable(await store.read(steps.journal, TENANT, names[-1]))
            items = list(_answers_to(response, answers))
            if not items:
                break
            request = {**request, "input": items, "previous_response_id": names[-1]}
        for name in names:
            await store.write(responses.delete, TENANT, name)
        return RunOutcome(response, outputs, journal, dict(self._executions))

    async def _responded(
        self, application: Application, request: Mapping[str, Any], response_id: str
    ) -> Response:
        """Return the response to one request, which workers run one after the other."""
        parts = application.parts.jobs
        agent = replace(self._agent, handler=self._handle)
        body = encode_json(
            {"model": self._agent.name, "stream": True, "background": True, **request}
        )
        identity = RequestIdentity(TENANT, response_id, size=len(body))
        await application.gateway.agents.enqueue(decode_request(body), body, identity)
        worker = 0
        while (job := await self._claimed(parts, f"worker {worker}")) is not None:
            task = asyncio.create_task(run_agent_job(parts, agent, job))
            await self._until_dead(parts, task, f"worker {worker}")
            worker += 1
        found = await application.gateway.responses.retrieve(TENANT, response_id)
        return read_object(found, Response)

    async def _claimed(self, parts: JobParts, worker: str) -> Job | None:
        for queue in queues_of(self._agent):
            if (job := await parts.store.write(jobs.claim, worker, 1, queue=queue)) is not None:
                return job
        return None

    async def _until_dead(self, parts: JobParts, task: "asyncio.Task[None]", worker: str) -> None:
        """Wait until a worker has ended; if it is killed, mark it as expired."""
        store: Any = parts.store
        died = asyncio.create_task(store.died.wait())
        await asyncio.wait([task, died], return_when=asyncio.FIRST_COMPLETED)
        died.cancel()
        if not store.died.is_set():
            task.result()
            return
        task.cancel()
        await asyncio.wait([task])
        store.revive()
        await store.write(leases.beat, worker)
        if beat := (await store.read(leases.beats)).get(worker):
            await store.write(leases.expire_worker, worker, beat)

    async def _handle(self, ctx: AgentContext) -> Any:
        ctx.observe_steps(lambda key: self._executions.update([key]))
        return await self._agent.handler(ctx)


class _MortalStore:
    """A store of a process that dies at a write: from then on no write is made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._number = 0
        self._moment = ""
        self._is_dead = False
        self.writes = 0
        self.died = asyncio.Event()

    def kill_at(self, number: int, moment: str) -> None:
        """Die before or after a write of the run, counted from 1."""
        self.writes, self._number, self._moment = 0, number, moment

    def revive(self) -> None:
        """Serve the next worker, and let it live."""
        self._number, self._is_dead = 0, False
        self.died.clear()

    async def write(self, operation: Any, *values: Any, **named: Any) -> Any:
        """Write as the store does, unless the process dies here."""
        if operation not in (jobs.advance, jobs.finish):
            return await self._store.write(operation, *values, **named)
        if self._is_dead:
            raise asyncio.CancelledError
        self.writes += 1
        await self._die("before")
        result = await self._store.write(operation, *values, **named)
        await self._die("after")
        return result

    async def _die(self, moment: str) -> None:
        if (self.writes, moment) == (self._number, self._moment):
            self._is_dead = True
            self.died.set()
            raise asyncio.CancelledError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _comparable(journal: Sequence[Step]) -> dict[str, str]:
    """Return the results of the steps by their keys. Keys have IDs too, such as that of a model's
    call of a tool, so several steps can have one key.
    """
    found: dict[str, list[str]] = {}
    for step in journal:
        if step.key.startswith(PREFIX):  # of a framework, with times and random IDs
            continue
        result = f"{step.state.name} {_without_ids(step.body.decode())}"
        found.setdefault(_without_ids(step.key), []).append(result)
    return {key: "\n".join(sorted(results)) for key, results in found.items()}


def _without_ids(text: str) -> str:
    """Return a recorded result without IDs and seals, which are new in each run."""
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "uuid", text)
    return re.sub(r"\b([a-z]+)_[0-9a-f]{32,}\b|\bar1\.[\w.-]+", r"\1", text)


def _answers_to(response: Response, answers: ClientAnswers) -> Iterator[dict[str, Any]]:
    """Yield the input items that answer the questions of a response."""
    for item in response.output:
        if isinstance(item, McpApprovalRequest) and item.name in answers:
            answer = answers[item.name]
            yield {
                "type": "mcp_approval_response",
                "approval_request_id": item.id,
                "approve": answer is True,
                "reason": answer if isinstance(answer, str) else None,
            }
        elif isinstance(item, FunctionCall) and item.name in answers:
            yield {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": str(answers[item.name]),
            }


def _difference(expected: RunOutcome, found: RunOutcome) -> str:
    """Return what differs, empty if nothing does."""
    pairs = (
        ("the status is", expected.response.status, found.response.status),
        ("the error is", expected.response.error, found.response.error),
        ("the output is", expected.outputs, found.outputs),
        ("the journal is", expected.journal, found.journal),
    )
    return "; ".join(
        f"{what} {now!r} instead of {before!r}" for what, before, now in pairs if before != now
    )


def _output(response: Response) -> list[dict[str, Any]]:
    """Return the items without their IDs, which are new in each run."""
    items: list[dict[str, Any]] = json.loads(_without_ids(encode_json(response.output).decode()))
    return items
