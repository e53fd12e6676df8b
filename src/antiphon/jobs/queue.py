"""Background responses: queued, cancelled, and run by the worker that claims them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from antiphon.access.credentials import carries_credentials, without_credentials
from antiphon.access.spending import NOTHING_SPENT
from antiphon.errors import FAULT, AntiphonError, ClientError, StoreError, reportable
from antiphon.history.context import Context
from antiphon.history.decoding import load_item, load_items
from antiphon.history.history_errors import conversation_locked, conversation_not_found
from antiphon.history.history_memory import HistoryMemory
from antiphon.jobs.parts import JobParts
from antiphon.jobs.recorder import (
    QUEUED,
    BackgroundRecorder,
    OutdatedJobError,
    frames_of,
    has_ended_as,
)
from antiphon.jobs.unfinished_items import close_unfinished
from antiphon.objects.pages import JsonObject
from antiphon.objects.responses import Responses
from antiphon.protocol.requests import BackgroundOptions, CreateResponse, LocalRequest
from antiphon.protocol.response import Response
from antiphon.protocol.tools import McpTool
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.checkpoints import from_bytes
from antiphon.recording.facts import ResponseOrigin, facts_of, origin_of
from antiphon.recording.persistence import (
    RequestIdentity,
    Retention,
    encode_json,
    identified,
    with_expiry,
)
from antiphon.runs.plan import ResumeState
from antiphon.runs.prepare import gather, open_response, prepare_again, view_of
from antiphon.runs.run import Run
from antiphon.runs.tool_checks import check_queued
from antiphon.sharing.memory import Account, weight_of_json
from antiphon.sizes import ITEM
from antiphon.storage.operations import jobs, responses
from antiphon.storage.records.facts import AGENT, BACKGROUND, STORED, STREAM
from antiphon.storage.records.jobs import SOONEST, Deferral, Job, LockResult
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.steps import Answers, Continued
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store
from antiphon.telemetry.context import note
from antiphon.translation.writer import ResponseWriter
from antiphon.upstream.permitted import permit, restriction
from antiphon.webhooks.announcement import announcement_of

MOST_CRASHES = 3
"""Workers that can crash on one job; then it fails."""


WINDOWS: Mapping[str | None, int] = {"2h": 2 * 3600, "8h": 8 * 3600}
"""The values of `completion_window` with which a job is deferred, in seconds."""

LEAD = 1800
"""Seconds before the end of the window from which a job no longer waits for idle slots: a response
may take as long.
"""


@dataclass(frozen=True, slots=True)
class Queued:
    """A background response in its current state, and the types of tools that its model will
    not be offered.
    """

    response: Response
    ignored_tools: Sequence[str]


class ContinuedError(Exception):
    """Another response already has the answers to an agent."""

    def __init__(self, by: Continued) -> None:
        super().__init__(by.response_id)
        self.by = by


class BackgroundQueue:
    """The background responses of all tenants. Workers of any server run them."""

    def __init__(self, parts: JobParts, stored: Responses) -> None:
        self._parts = parts
        self._stored = stored

    async def enqueue(
        self, request: CreateResponse, body: bytes, identity: RequestIdentity | None = None
    ) -> Queued:
        """Queue a background response; return it in its current state, durable.

        `body` is the request's JSON, for the worker that runs it. Raises `ClientError` if the
        request can be rejected before the model is called.
        """
        parts = self._parts
        identity = identified(identity, parts.run.new_id)
        if not parts.run.history.bounds.stored_bytes:
            return await _enqueue(parts, request, body, identity)
        with await parts.run.quota.reserve(identity.tenant, len(body)):
            return await _enqueue(parts, request, body, identity)

    async def cancel(self, tenant: str, response_id: str) -> JsonObject:
        """End a background response, on any server; return its current state.

        One that has ended is unchanged.

        Raises `ClientError`: 404 if it is unknown, 400 if it is not a background response
        (specification section 13).
        """
        while (job := await self._parts.store.read(jobs.find_job, tenant, response_id)) is not None:
            if not _is_background(job) or await end(self._parts, job):
                break
        response = await self._stored.retrieve(tenant, response_id)
        if not response["background"]:
            raise ClientError("Cannot cancel a synchronous response.")
        return response

    async def leave(self, tenant: str, response_id: str) -> None:
        """End the response of an agent after its client has left."""
        while (job := await self._parts.store.read(jobs.find_job, tenant, response_id)) is not None:
            if await end(self._parts, job):
                break


async def _enqueue(
    parts: JobParts, request: CreateResponse, body: bytes, identity: RequestIdentity
) -> Queued:
    context = await gather(parts.run, request, identity.tenant, work=identity.work)
    try:
        return await _put(parts, request, body, identity, context)
    finally:
        context.release()


async def _put(
    parts: JobParts,
    request: CreateResponse,
    body: bytes,
    identity: RequestIdentity,
    context: Context,
) -> Queued:
    items = context.items
    candidates = await parts.run.models.candidates(request.model)
    if isinstance(request, LocalRequest):
        candidates = candidates.taking(request.parameters)
    if carries_credentials(request) and (
        McpTool in parts.run.toolset.supported
        or any(each.api_for(request, items) == "responses" for each in candidates)
    ):
        raise credentials_not_stored()
    sent = request
    if candidates.preset is not None:
        request = candidates.preset.applied_to(request)
    ignored = await check_queued(parts.run, request, items, candidates[0], identity.tenant)
    saved = without_credentials(sent, body)
    return Queued(await put(parts, request, saved, identity, context), ignored)


async def put(
    parts: JobParts,
    request: CreateResponse,
    saved: bytes,
    identity: RequestIdentity,
    context: Context,
    agent: str = "",
    answers: Answers | None = None,
) -> Response:
    """Store a queued response with the JSON of its request, for the workers of a model or of an
    agent; return its current state.

    With `answers`, it continues an agent's response that waits for them. Raises `ClientError`, and
    `ContinuedError` if another response already continues that one.
    """
    response = open_response(request, identity.response_id, int(parts.run.now()))
    response = replace(response, status="queued")
    writer = _writer(parts, response)
    writer.queue()
    reply = _reply(response, identity, bool(request.stream))
    retention = retention_of(parts, request, identity.tenant)
    facts = None
    if parts.run.facts is not None:
        origin = origin_of(request, identity)
        if agent:
            origin = replace(origin, flags=origin.flags | AGENT)
        facts = facts_of(origin, response, context.input, parts.run.now())
    stored = await parts.run.offload.run(
        identity.tenant, context.work, retention.of, response, context, {}, facts
    )
    frames = frames_of(writer.take()) if stored.is_streamed else []
    most = parts.queue_per_tenant
    deferral = (
        SOONEST
        if request.background_options is None
        else _deferral_of(request, response.created_at)
    )
    try:
        outcome = await parts.store.write(
            *(jobs.enqueue, stored, saved, frames, reply, identity.taken),
            most=most,
            deferral=deferral,
            queue=agent,
            answers=answers,
        )
    except StoreError as error:
        await _check_stored(parts.store, stored, error)
        outcome = LockResult.DONE
    if isinstance(outcome, Continued):
        raise ContinuedError(outcome)
    if outcome is LockResult.FULL:
        raise queue_full(most)
    if outcome is LockResult.UNKNOWN:
        raise conversation_not_found(str(request.conversation_id))
    if outcome is LockResult.BUSY:
        raise conversation_locked()
    for hand_over in parts.run.observers.queued:
        hand_over(response.id)
    return response


async def _check_stored(store: Store, stored: StoredResponse, error: StoreError) -> None:
    """Raise the error of a write unless it was done, and only its answer was lost."""
    try:
        is_stored = await store.read(responses.load, stored.tenant, stored.id, few=True) is not None
    except StoreError:
        error.is_uncertain = True
        raise error from None
    if not is_stored:
        raise error


def _deferral_of(request: CreateResponse, created_at: int) -> Deferral:
    """Return how long a job can wait, and what it continues (specification section 24)."""
    options = request.background_options or BackgroundOptions()
    window = WINDOWS.get(options.completion_window)
    continues = options.continuation_id
    digest = (
        sha256(continues.encode("utf-8", "surrogatepass")).hexdigest()[:32] if continues else ""
    )
    return Deferral(created_at + window - LEAD if window else 0, digest)


async def end(parts: JobParts, job: Job, error: AntiphonError | None = None) -> bool:
    """End a job from outside, failed with the error, else cancelled; False if another process wrote
    to it meanwhile.

    The completed items remain, and open ones are closed as incomplete.
    """
    try:
        job = await _whole(parts, job)
    except OutdatedJobError:
        return False
    stored = job.response
    writer = _writer(parts, msgspec.json.decode(stored.body, type=Response))
    writer.continue_at(job.next_number)
    output = await close_unfinished(parts, job, writer)
    if error is not None:
        writer.fail(error)
    else:
        writer.cancel()
    writer.end()
    response = writer.response
    body = encode_json(replace(response, output=[]))
    origin = job_origin(parts, job, response.model)
    facts = None if origin is None else facts_of(origin, response, (), parts.run.now())
    ended = with_expiry(
        replace(stored, status=response.status, body=body, output=output, facts=facts),
        parts.run.now(),
    )
    try:
        is_ended = await parts.store.write(
            jobs.finish,
            job,
            ended,
            frames_of(writer.take()) if stored.is_streamed else [],
            append=False,
            announcement=announcement_of(parts.run.new_id, parts.run.now, response),
        )
    except StoreError:
        if not await has_ended_as(parts.store, ended):
            raise
        is_ended = True
    if is_ended:
        parts.meter.charge(stored.tenant, job.taken, stored.created_at, 1, NOTHING_SPENT)
    return is_ended


Prepare = Callable[[JobParts, Job, HistoryMemory], Awaitable[BackgroundRecorder]]
"""Prepares the run of a job: its history counts in this memory."""


async def run_job(parts: JobParts, job: Job, prepare: Prepare | None = None) -> None:
    """Run a background response to its end, unless another process writes to it. `prepare` is for
    that of an agent.

    It waits for memory before the job is read or decoded, and before its history is read.
    """
    note(api_key_id=job.taken.key_id)
    # A key is for what its clients may name; the models that an agent calls are its operator's.
    models = () if job.queue else job.taken.models
    if models or restriction.get():  # this task may have been created in a request of another key
        permit(models)
    memory = Account(parts.run.history.memory, job.response.tenant, is_patient=True)
    try:
        await _run_within(parts, job, memory, prepare or _prepare)
    finally:
        memory.close()


async def _run_within(parts: JobParts, job: Job, memory: Account, prepare: Prepare) -> None:
    try:
        if job.crashes >= MOST_CRASHES:
            raise crashed(job)
        intake = HistoryMemory(parts.run.history.bounds, memory)
        if job.is_partial:
            await intake.ahead(job.size, job.items)
            job = await _whole(parts, job)
        recorder = await prepare(parts, job, intake)
    except OutdatedJobError:
        parts.counter.add("lost")
        return
    except StoreError:
        raise  # the job returns to the queue, as if the store had failed later
    except Exception as error:
        await end(parts, job, reportable(error))
        parts.counter.add("done")
        return
    try:
        await recorder.record()
        parts.counter.add("done")
    except OutdatedJobError:
        parts.counter.add("lost")


async def _whole(parts: JobParts, job: Job) -> Job:
    """Return all of a job. Raises `OutdatedJobError` if another process wrote to it meanwhile."""
    if not job.is_partial:
        return job
    found = await parts.store.read(jobs.find_job, job.response.tenant, job.response.id)
    if found is None or found.version != job.version:
        raise OutdatedJobError
    return found


def _is_background(job: Job) -> bool:
    """Whether no client waits for the response, as always for that of a model."""
    return not job.queue or bool(msgspec.json.decode(job.response.body)["background"])


def _begins(job: Job) -> bool:
    """Whether no earlier attempt left anything. The log does not show that for a response without
    a stream, which has no events of its own.
    """
    return job.resume_number <= QUEUED and not (job.response.output or job.checkpoint)


def _takes(name: str) -> bool:
    """Accept any parameter: it was checked when the job was queued, and `prepare_again` checks
    the model's backends.
    """
    return True


async def restore(
    parts: JobParts, job: Job, intake: HistoryMemory
) -> tuple[CreateResponse, ResumeState]:
    """Return the request of a job, with its input, and what earlier attempts left."""
    stored = job.response
    await intake.add(weight_of_json(job.request))
    await intake.known(stored.input)
    size = len(job.request)
    offload = parts.run.offload
    request = await offload.run(stored.tenant, size, decode_request, job.request, _takes)
    items = await load_items(stored.input, parts.run.history.reads, offload, stored.tenant)
    if request.prompt is not None:
        from antiphon.history.prompted import restore  # noqa: PLC0415 - few requests name a prompt

        request = restore(request)
    request = replace(request, input=items)
    is_sealed_displayed = view_of(request).encrypted
    resume = ResumeState(
        created_at=stored.created_at,
        stored=[
            load_item(item if is_sealed_displayed else replace(item, sealed=None))
            for item in stored.output
        ],
        sealed={item.id: item.sealed for item in stored.output if item.sealed},
        next_number=job.next_number,
        begins=_begins(job),
        checkpoint=from_bytes(job.checkpoint),
        size=max(size, len(items) * ITEM),
        defers_for=_deferral_of(request, stored.created_at).begin_by - parts.run.now()
        if job.uses_idle
        else 0,
    )
    return request, resume


async def _prepare(parts: JobParts, job: Job, intake: HistoryMemory) -> BackgroundRecorder:
    request, resume = await restore(parts, job, intake)
    stored = job.response
    recorder = BackgroundRecorder(parts, job, retention_of(parts, request, stored.tenant))
    plan = await prepare_again(
        parts.run, request, stored.tenant, recorder, stored.id, resume, intake.account
    )
    recorder.run = run = Run(plan, parts.run)
    run.origin = job_origin(parts, job, request.model)
    return recorder


def job_origin(parts: JobParts, job: Job, model: str) -> ResponseOrigin | None:
    """Return the origin of a response that is a job; None if facts are not stored."""
    if parts.run.facts is None:
        return None
    stored = job.response
    flags = (STORED if stored.is_stored else 0) | (STREAM if stored.is_streamed else 0)
    if _is_background(job):
        flags |= BACKGROUND
    if job.queue:
        flags |= AGENT
    return ResponseOrigin(
        model, stored.tenant, job.taken.key_id, flags, len(job.request), job.attempt
    )


def crashed(job: Job) -> AntiphonError:
    """Return the error for a job that crashes its workers."""
    if job.queue:
        return AntiphonError(
            f"{MOST_CRASHES} workers of the agent died while they ran it.", code="agent_crashed"
        )
    return AntiphonError(FAULT, code="server_error")


def credentials_not_stored() -> ClientError:
    """Return the error for credentials of other servers, which workers would not have."""
    return ClientError(
        "Unsupported value: the 'authorization' and 'headers' of 'mcp' tools are not stored, "
        "so a background response would run without them. Send the request without 'background'.",
        code="unsupported_value",
        param="tools",
    )


def queue_full(most: int) -> ClientError:
    """Return the error for a background response if the tenant's queue is full: 429."""
    return ClientError(
        f"Too many background responses are waiting: the limit is {most}. "
        "Try again after some have ended, or cancel some.",
        status=429,
        type="requests",
        code="background_queue_full",
        param="background",
        headers={"retry-after": "5"},
    )


def retention_of(parts: JobParts, request: CreateResponse, tenant: str) -> Retention:
    """Return how a background response is stored."""
    return Retention(
        tenant, request.store is not False, parts.run.rules.retention, bool(request.stream)
    )


def _writer(parts: JobParts, response: Response) -> ResponseWriter:
    """Return a writer for a response that calls no model now."""
    return ResponseWriter(response, parts.run.new_id, parts.run.now, seal=lambda state: "")


def _reply(response: Response, identity: RequestIdentity, is_stream: bool) -> StoredReply | None:
    """Return the answer to a repetition of the request: the queued response, or a replay
    of its log.
    """
    if not identity.key:
        return None
    return StoredReply(
        identity.tenant, identity.key, is_stream, b"" if is_stream else encode_json(response)
    )
