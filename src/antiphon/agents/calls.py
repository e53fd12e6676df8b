"""Runs the models that an agent calls: each call is a run of this server, within a step.

Theory of operation.

The step of a call has three states in the journal. While it is begun, its body is a
`ModelCallRecord`: the items that were closed, and the checkpoint of its tools. At its end the
record also has the response. A later attempt that finds it begun resumes the run from there, as a
worker resumes a background response: a tool is not executed again once its call was begun. A call
that failed is recorded like one that succeeded, with its items and its tokens.

    the run saves a checkpoint      the step is committed, before a tool runs
    an emitted item closes          the step is stored in the transaction of that item
    the run ends                    the step is committed as done, or as failed

Without tools and emitted items nothing is written before the end: the model is called again.

The agent's response and the call's record are not written at the same moment, so an item can be in
the record and not in the response. `EmittedItems.catch_up` emits it then.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from antiphon.access.metering import UNMETERED, UsageLease
from antiphon.access.weight import weight_of_response
from antiphon.agents.call_record import ModelCallRecord, from_bytes, request_of, to_bytes
from antiphon.agents.emitted_items import Emit, EmittedItems
from antiphon.agents.errors import AgentError, StepFailed, result_too_large
from antiphon.agents.journal import Journal
from antiphon.agents.keys import here
from antiphon.agents.output import AgentOutput
from antiphon.agents.results import digest_of
from antiphon.agents.steps import StepError, Steps
from antiphon.errors import AntiphonError, ClientError
from antiphon.jobs.parts import JobParts
from antiphon.protocol.events import (
    Event,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
)
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response, Usage
from antiphon.recording.checkpoints import Checkpoint
from antiphon.runs.prepare import gather, prepare_again
from antiphon.runs.run import Run
from antiphon.runs.tool_checks import check_queued
from antiphon.runs.turn import added
from antiphon.sharing.memory import Account
from antiphon.storage.operations import api_keys
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.steps import Step, StepState


class AgentCalls:
    """The calls of models of one attempt. `tenant` and `key_id` are those of the response."""

    def __init__(
        self,
        parts: JobParts,
        tenant: str,
        key_id: str,
        view: Mapping[str, Any],
        journal: Journal,
        steps: Steps,
        output: AgentOutput,
        now: Callable[[], int],
    ) -> None:
        self.parts = parts
        self.tenant = tenant
        self.journal = journal
        self.steps = steps
        self.output = output
        self.now = now
        self._key_id = key_id
        self._view = view
        self.usage: Usage | None = None
        """The tokens of all calls that have ended, in this attempt and earlier ones."""
        self.cost = 0
        """Their cost, in nano-units."""

    async def run(
        self,
        model: str,
        input: str | Sequence[Any],
        name: str,
        emit: Emit,
        volatile: Sequence[str],
        parameters: Mapping[str, Any],
    ) -> Response:
        """Return the response of a model. See `AgentContext.call`."""
        if model in self.parts.agents.names:
            raise ValueError(
                f"{model!r} is an agent. An agent calls models; call the function of another agent."
            )
        request, body = request_of(model, input, {**self._view, **parameters})
        fields = {"model": model, "input": input, **parameters}
        key = here().key(name)
        digest = digest_of({name: fields[name] for name in fields if name not in volatile})
        found = self.journal.find(key, digest)
        if found is not None:
            found = await self.steps.whole(found)
        call = _AgentCall(self, key, digest, found, emit)
        is_over = found is not None and found.state is not StepState.BEGUN
        with self.steps.observed.step(key, is_recorded=is_over):
            if is_over:
                await call.catch_up()
            else:
                await self.steps.pause.admit()
                with self.steps.pause.working():
                    self.steps.note_execution(key)
                    await call.run(request, body)
            if found is None or not self.journal.owner_of(found):  # else an earlier response's
                self.usage = added(self.usage, call.record.usage())
                self.cost += call.record.cost
            if (failure := call.record.failure) is not None:
                raise StepFailed(key, failure.type, failure.message)
        return call.record.result()

    async def admit(self, request: CreateResponse, body: bytes) -> UsageLease:
        """Admit a call, within the limits and budgets of the request's key. Raises `ClientError`
        (429).
        """
        if not self._key_id:
            return UNMETERED
        key = await self.parts.store.read(api_keys.load, self._key_id)
        if key is None:
            raise ClientError("The API key of the request was revoked.", status=401)
        # What the key may name is for clients; an agent's models are its operator's choice.
        key = replace(key, limits=replace(key.limits, models=()))
        weight = weight_of_response(request, body)
        return await self.parts.meter.admit(key, request.model, weight, is_queued=True)


class _AgentCall:
    """One call, and its recorder: see `Recorder`."""

    sees_events = False
    facts: Facts | None = None

    def __init__(
        self, calls: AgentCalls, key: str, digest: bytes, found: Step | None, emit: Emit
    ) -> None:
        self._calls = calls
        self._key = key
        self._digest = digest
        self._began = calls.now() if found is None else found.began
        self.record = (
            ModelCallRecord() if found is None or not found.body else from_bytes(found.body)
        )
        self._is_new = found is None
        self._earlier_cost = self.record.cost
        self._emitted = EmittedItems(calls.output, emit, key, self._note_progress)
        self._run: Run | None = None
        self._has_ended = False

    async def catch_up(self) -> None:
        """Emit what earlier attempts did not."""
        sealed = [one.sealed for one in self.record.items]
        await self._emitted.catch_up(self.record.output(), sealed)

    async def run(self, request: CreateResponse, body: bytes) -> None:
        """Run it to its end, from where an earlier attempt stopped."""
        calls = self._calls
        parts = calls.parts
        await self.catch_up()
        memory = Account(parts.run.history.memory, calls.tenant, is_patient=True)
        try:
            with calls.steps.without_store_errors():
                await self._run_to_its_end(request, body, memory)
        except AgentError:
            raise
        except AntiphonError as error:  # it did not begin: a limit, an unknown model
            self.record.failure = StepError(error.code or error.type, error.message)
            await self._commit()
        except BaseException:
            if not calls.output.is_over() and self._run is not None:
                await self._read(self._run.remaining_events())
            raise
        finally:
            memory.close()

    async def _run_to_its_end(self, request: CreateResponse, body: bytes, memory: Account) -> None:
        with await self._calls.admit(request, body) as lease:
            self._run = run = await self._prepared(request, len(body), memory)
            lease.watch(run)
            async with aclosing(run.events()) as batches:
                async for batch in batches:
                    await self._read(batch)

    async def _prepared(self, request: CreateResponse, size: int, memory: Account) -> Run:
        calls = self._calls
        parts = calls.parts.run
        if self._is_new:
            context = await gather(parts, request, calls.tenant, work=size, memory=memory)
            try:
                candidates = await parts.models.candidates(request.model)
                target = candidates[0]
                await check_queued(parts, request, context.items, target, calls.tenant)
            finally:
                context.release()
        plan = await prepare_again(
            parts,
            request,
            calls.tenant,
            self,
            parts.new_id("resp"),
            self.record.resume_state(self._began // 1000, size),
            memory,
        )
        return Run(plan, parts)

    async def _read(self, batch: Sequence[Event]) -> None:
        """Record and emit the items of a batch."""
        if self._has_ended:
            return
        for event in batch:
            index = getattr(event, "output_index", None)
            if index is None:
                continue
            if isinstance(event, ResponseOutputItemAddedEvent):
                await self._emitted.open(event)
            elif isinstance(event, ResponseOutputItemDoneEvent):
                assert self._run is not None  # noqa: S101 - it emits the events
                item: Any = event.item  # of a run: a struct with an ID
                sealed = self._run.sealed.get(item.id)
                self.record.add(item, sealed)
                self._emitted.close(event, sealed)
            else:
                await self._emitted.pass_on(event, index)

    # The recorder of its run.

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """See `Checkpoints`."""
        self.record.checkpoint = checkpoint
        self._note_progress()
        await self._calls.steps.store.commit([self._key])

    async def save(
        self, response: Response, sealed: Mapping[str, str], end: Sequence[Event]
    ) -> None:
        """See `Recorder.save`."""
        if self._calls.parts.process.is_over:  # it ends for this process alone
            raise asyncio.CancelledError
        await self._read(end)
        self._has_ended = True
        self.record.end(response)
        await self._commit()

    async def leave(self, response: Response, sealed: Mapping[str, str]) -> bool:
        """See `Recorder.leave`: a later attempt continues it."""
        return False

    async def drop(self) -> None:
        """See `Recorder.drop`."""

    def see(self, batch: Sequence[Event]) -> None:
        """See `Recorder.see`."""

    # Its step.

    def _note_progress(self) -> None:
        body, began = self._body(), self._began
        self._calls.journal.put(self._key, self._digest, StepState.BEGUN, body, began, began)

    def _body(self) -> bytes:
        if self._run is not None:
            self.record.cost = self._earlier_cost + self._run.spent().cost
        body = to_bytes(self.record)
        if len(body) > (most := self._calls.journal.limits.step_bytes):
            raise result_too_large(self._key, len(body), most)
        return body

    async def _commit(self) -> None:
        """Store how it ended. A failure is a result too: a later attempt takes the same branch."""
        calls = self._calls
        state = StepState.DONE if self.record.failure is None else StepState.FAILED
        calls.journal.put(self._key, self._digest, state, self._body(), self._began, calls.now())
        await calls.steps.store.commit([self._key])
