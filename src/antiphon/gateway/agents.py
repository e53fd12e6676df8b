"""Requests for agents: each response is a job of the store, which a worker of its agent runs.

A client that waits reads the log of events, or the response at its end; if it leaves, the response
is cancelled, as a model's is.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import msgspec

from antiphon.access.credentials import without_credentials
from antiphon.errors import AntiphonError, ClientError
from antiphon.gateway.agent_answers import answered_otherwise, answers_to, check_history
from antiphon.jobs.known_agents import declares
from antiphon.jobs.parts import JobParts
from antiphon.jobs.queue import BackgroundQueue, ContinuedError, put
from antiphon.jobs.replay import OPEN, Replays
from antiphon.objects.pages import JsonObject
from antiphon.objects.responses import Responses
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.recording.persistence import RequestIdentity, encode_json
from antiphon.runs.prepare import gather
from antiphon.storage.operations import continuations, event_log, idempotency, responses
from antiphon.storage.records.agents import AgentOffer
from antiphon.storage.records.steps import Continued
from antiphon.storage.records.tenants import StoredReply

WAITS = 5.0
"""Seconds that a request waits for a worker to take it, while its client waits."""

POLL_INTERVAL = 1.0
"""Seconds between two looks at a response without a notification."""

END = 2**62
"""A number after every event: the status of a response alone is read."""

ACCEPTED = frozenset(
    {
        *("model", "input", "metadata", "store", "stream", "stream_options", "background"),
        *("conversation", "previous_response_id", "include", "user", "safety_identifier"),
        *("prompt_cache_key", "client_metadata", "prompt"),
    }
)
"""Parameters that every agent accepts."""

DEFAULTS: Mapping[str, object] = {
    "parallel_tool_calls": True,
    "service_tier": "auto",
    "temperature": 1.0,
    "text": None,
    "tool_choice": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What clients send by default: the same as if it were absent."""


class AgentReply(msgspec.Struct, frozen=True):
    """The response to a request for an agent."""

    id: str
    agent: str
    state: JsonObject | Response
    """Of the response, when the request was accepted."""
    waiting: str = ""
    """The response that it continues with the client's answers; empty if it begins a run."""
    is_joined: bool = False
    """Whether an earlier request began it."""
    key: str = ""
    """The `Idempotency-Key` of the request; empty without one."""
    own_id: str = ""
    """The ID for which the key is reserved; that of the response, unless it is joined."""
    is_stream: bool = False


class AgentFront:
    """The agents of all workers, for clients."""

    def __init__(
        self, parts: JobParts, stored: Responses, queue: BackgroundQueue, replays: Replays
    ) -> None:
        self._parts = parts
        self._stored = stored
        self._queue = queue
        self._replays = replays

    async def enqueue(
        self, request: CreateResponse, body: bytes, identity: RequestIdentity
    ) -> AgentReply:
        """Queue a response, durably; for answers that are repeated, return the response that has
        them.

        Raises `ClientError` for a parameter that the agent does not accept, and what can be
        rejected of any request; and `AntiphonError` (503) if a client waits and no worker is alive.
        """
        parts = self._parts
        offer = parts.agents.names[request.model]
        check_parameters(request, offer)
        if not request.background and request.model not in parts.agents.offered:
            await parts.agents.refresh(parts.store)
            if request.model not in parts.agents.offered:
                raise unavailable(request.model)
        tenant = identity.tenant
        answered = await answers_to(parts.store, request, tenant, offer)
        answers = None if answered is None else answered.answers
        if answered is not None and answered.is_repeated:
            known = await parts.store.write(continuations.join, tenant, answered.answers)
            if known is not None:
                return await self._joined(request, identity, known)
        context = await gather(parts.run, request, tenant, work=identity.work)
        try:
            check_history(context, offer.name, answered)
            saved = without_credentials(request, body)
            # A client that waits receives another reply than the queued response.
            owner = identity if request.background else msgspec.structs.replace(identity, key="")
            queued = await put(parts, request, saved, owner, context, offer.name, answers)
        except ContinuedError as continued:
            return await self._joined(request, identity, continued.by)
        finally:
            context.release()
        waiting = "" if answers is None else answers.waiting
        return AgentReply(
            *(queued.id, request.model, queued, waiting, False),
            *(identity.key, identity.response_id, bool(request.stream)),
        )

    async def _joined(
        self, request: CreateResponse, identity: RequestIdentity, by: Continued
    ) -> AgentReply:
        tenant = identity.tenant
        if not (by.status and by.is_same):
            raise answered_otherwise(by)
        if request.stream:
            await self._replays.check(tenant, by.response_id)
        state = await self._stored.retrieve(tenant, by.response_id)
        reply = AgentReply(
            *(by.response_id, request.model, state, "", True),
            *(identity.key, identity.response_id, bool(request.stream)),
        )
        if request.background:
            await self._answer(tenant, reply, state)
        return reply

    async def _answer(self, tenant: str, reply: AgentReply, state: JsonObject | None) -> None:
        """Store what the client receives for its `Idempotency-Key`: a response, or None for the
        events of one.
        """
        if not reply.key:
            return
        body = b"" if state is None or reply.is_stream else encode_json(state)
        stored = StoredReply(tenant, reply.key, reply.is_stream, body)
        await self._parts.store.write(idempotency.answer, stored, reply.own_id, reply.id)

    async def started(self, tenant: str, reply: AgentReply) -> None:
        """Return once a worker has begun the response; end it if none does within `WAITS`, or if
        the client leaves.

        Raises `AntiphonError` (503).
        """
        has_begun = False
        try:
            async with asyncio.timeout(WAITS):
                await self._until(tenant, reply.id, frozenset({"queued"}))
            has_begun = True
        except TimeoutError:
            raise busy(reply.agent) from None
        finally:
            if not has_begun:
                await self._end(tenant, reply, is_read=False)

    async def events(self, tenant: str, reply: AgentReply) -> AsyncGenerator[bytes, None]:
        """Yield the events of a response in the foreground; cancel it if the client leaves."""
        is_read = False
        try:
            async with aclosing(self._replays.events(tenant, reply.id)) as frames:
                async for body in frames:
                    yield body
            await self._answer(tenant, reply, None)
            is_read = True
        finally:
            await self._end(tenant, reply, is_read=is_read)

    async def result(self, tenant: str, reply: AgentReply) -> JsonObject:
        """Return a response when it has ended; cancel it if the client leaves."""
        is_read = False
        try:
            await self._until(tenant, reply.id, OPEN)
            found = await self._stored.retrieve(tenant, reply.id)
            await self._answer(tenant, reply, found)
            is_read = True
            return found
        finally:
            await self._end(tenant, reply, is_read=is_read)

    async def _until(self, tenant: str, response_id: str, statuses: frozenset[str]) -> None:
        store = self._parts.store
        with self._parts.process.wakes.expect(response_id) as change:
            while True:
                tail = await store.read(event_log.tail, tenant, response_id, END)
                if tail is None or tail.status not in statuses:
                    return
                await change.wait(POLL_INTERVAL)

    async def _end(self, tenant: str, reply: AgentReply, *, is_read: bool) -> None:
        """Cancel a response if its client left; delete one that was not to be stored.

        One that another client reads remains until it expires: with the same answers, or the events
        with the same key.
        """
        store = self._parts.store
        if not is_read:
            await asyncio.shield(self._leave(tenant, reply))
            if reply.key:
                await store.write(idempotency.free, tenant, reply.key, reply.own_id)
        if (reply.key and reply.is_stream and is_read) or await self._is_shared(tenant, reply):
            return
        found = await store.read(responses.load, tenant, reply.id)
        if found is not None and not found.is_stored:
            await store.write(responses.delete, tenant, reply.id)

    async def _leave(self, tenant: str, reply: AgentReply) -> None:
        """Cancel a response, unless another client waits for it too."""
        if not await self._is_shared(tenant, reply):
            await self._queue.leave(tenant, reply.id)

    async def _is_shared(self, tenant: str, reply: AgentReply) -> bool:
        """Whether another client requested the response too, with the same answers."""
        if reply.is_joined or not reply.waiting:
            return reply.is_joined
        return await self._parts.store.read(continuations.repetitions, tenant, reply.waiting) > 0


def check_parameters(request: CreateResponse, offer: AgentOffer) -> None:
    """Raise `ClientError` for a parameter that the agent does not accept.

    Nulls, defaults and empty lists count as absent: clients send them.
    """
    for name in request.__struct_fields__:
        value = getattr(request, name)
        if name == "tools" and value:
            value = [tool for tool in value if not declares(tool, offer.name)]
        if name in ACCEPTED or name in offer.accepts or _is_absent(name, value):
            continue
        accepted = ", ".join(sorted(offer.accepts)) or "none besides those that all agents accept"
        raise ClientError(
            f"The agent '{offer.name}' does not accept the parameter '{name}'. It accepts: "
            f"{accepted}.",
            code="unsupported_parameter",
            param=name,
        )


def _is_absent(name: str, value: object) -> bool:
    is_unset = value is None or value is msgspec.UNSET or value == []
    return is_unset or (name in DEFAULTS and value == DEFAULTS[name])


def unavailable(agent: str) -> AntiphonError:
    """Return the error for an agent without a worker: 503."""
    return AntiphonError(
        f"No worker of the agent '{agent}' is running. Start one with `antiphon worker`, or send "
        "the request with background: true; then it waits for one.",
        status=503,
        code="agent_unavailable",
        headers={"retry-after": "5"},
    )


def busy(agent: str) -> AntiphonError:
    """Return the error for an agent with busy workers only: 503."""
    return AntiphonError(
        f"No worker of the agent '{agent}' was free within {WAITS:g} seconds. Retry, or send the "
        "request with background: true; then it waits.",
        status=503,
        code="agent_busy",
        headers={"retry-after": "5"},
    )
