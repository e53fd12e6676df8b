"""Stores a response durably, together with its conversation and its `Idempotency-Key`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from antiphon.errors import StoreError, log
from antiphon.history.context import CHAINABLE, Context
from antiphon.history.encoding import store_item
from antiphon.ids import NewId
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.recording.checkpoints import Checkpoint, Checkpoints
from antiphon.recording.quota import StorageReservation
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import conversations, idempotency, responses
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.jobs import NOTHING_RESERVED, Reservation
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store
from antiphon.translation.wire import encode
from antiphon.translation.writer import output_text

UNSTORED = 600
"""Seconds for which background work with `store: false` can be polled after it has ended
(specification section 9).
"""

encode_json = msgspec.json.Encoder().encode


class RequestIdentity(msgspec.Struct, frozen=True):
    """The tenant of a request, the id of its response, and its `Idempotency-Key`,
    empty if it has none.

    `taken` is for a job: the API key of its request, and the tokens reserved from
    that key's budget.
    """

    tenant: str = ""
    response_id: str = ""
    key: str = ""
    taken: Reservation = NOTHING_RESERVED
    size: int = 0
    """Bytes of its request."""
    work: int = 0
    """Bytes of it that are to be processed: without tools that are known, with its prompt. 0 for
    few.
    """


def identified(identity: RequestIdentity | None, new_id: NewId) -> RequestIdentity:
    """Return the identity of a request, with an id for its response."""
    identity = identity or RequestIdentity()
    return identity if identity.response_id else replace(identity, response_id=new_id("resp"))


class Recorder(Checkpoints, Protocol):
    """Stores one response."""

    sees_events: bool
    """Whether it records the events that are sent."""
    facts: Facts | None
    """Facts that `save` and `leave` store with the response; None again once they are durable."""

    def see(self, batch: Sequence[Event]) -> None:
        """Record events that are sent."""
        ...

    async def save(
        self, response: Response, sealed: Mapping[str, str], end: Sequence[Event]
    ) -> None:
        """Store a response that has ended, together with the events of its end."""
        ...

    async def leave(self, response: Response, sealed: Mapping[str, str]) -> bool:
        """The client disconnected: store the cancelled response with its items so far.

        Return whether that ends it.
        """
        ...

    async def drop(self) -> None:
        """Nothing needs to be stored: release the leases of the response."""
        ...


@dataclass(slots=True)
class Retention:
    """How a response is stored."""

    tenant: str
    is_stored: bool
    retention: int
    """Seconds."""
    is_streamed: bool = False

    def of(
        self,
        response: Response,
        context: Context,
        sealed: Mapping[str, str],
        facts: Facts | None = None,
    ) -> StoredResponse:
        """Return a response as it is stored, with its facts."""
        size = context.work
        created: Any = response.output  # items of a run: each is a struct, and has an id
        items = context.items if context.is_recalled else context.input
        return StoredResponse(
            id=response.id,
            created_at=response.created_at,
            status=response.status,
            previous_response_id=None if context.is_recalled else response.previous_response_id,
            body=encode_json(replace(response, output=[])),
            input=[store_item(item, size=size) for item in items],
            output=[store_item(item, sealed.get(item.id), size) for item in created],
            tenant=self.tenant,
            conversation_id=response.conversation.id if response.conversation else None,
            conversation_end=context.conversation_end,
            expires_at=response.created_at + self.retention if self.is_stored else None,
            is_stored=self.is_stored,
            is_streamed=self.is_streamed,
            facts=facts,
        )


def with_expiry(stored: StoredResponse, now: float) -> StoredResponse:
    """Return a background response that ends now, as it is stored; with `store: false`
    it expires soon.
    """
    return stored if stored.is_stored else replace(stored, expires_at=int(now) + UNSTORED)


@dataclass(slots=True)
class ForegroundRecorder:
    """Stores a response that a client waits for."""

    store: Store
    retention: Retention
    context: Context
    identity: RequestIdentity
    conversation_id: str | None
    is_stream: bool
    leases: set[str]
    """Responses of this process that hold leases while they run."""
    offload: Offload
    reservation: StorageReservation | None = None
    """The reservation in the tenant's storage quota, if it has one."""
    facts: Facts | None = None
    _frames: list[bytes] = field(default_factory=list)
    sees_events: bool = field(init=False)

    def __post_init__(self) -> None:
        self.sees_events = bool(self.identity.key) and self.is_stream

    def see(self, batch: Sequence[Event]) -> None:
        """See `Recorder.see`; a stream with a key is stored as it was sent."""
        self._frames.append(encode(batch))

    async def save(
        self, response: Response, sealed: Mapping[str, str], end: Sequence[Event]
    ) -> None:
        """See `Recorder.save`. Raises `StoreError`, also if this server lost its lease on the
        conversation or key.
        """
        is_good = response.status in CHAINABLE
        try:
            reply = self._reply(response, end) if self.identity.key and is_good else None
            if self.retention.is_stored or self.conversation_id or reply:
                await self._save(response, sealed, append=is_good, reply=reply)
        finally:
            self.leases.discard(response.id)
            if self.reservation is not None:
                self.reservation.release()
        if self.identity.key and not is_good:
            await self._free_key()

    async def leave(self, response: Response, sealed: Mapping[str, str]) -> bool:
        """See `Recorder.leave`."""
        try:
            await self.save(response, sealed, ())
        except StoreError as error:
            log.warning("Cannot store the response of a disconnected client: %s", error)
        return True

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """See `Checkpoints`. Nothing is saved: the client receives a failure, and no server
        resumes the response.
        """

    async def drop(self) -> None:
        """See `Recorder.drop`."""
        self.leases.discard(self.identity.response_id)
        if self.reservation is not None:
            self.reservation.release()
        try:
            if self.conversation_id is not None:
                await self.store.write(
                    conversations.let_go, self.conversation_id, self.identity.response_id
                )
            if self.identity.key:
                await self._free_key()
        except StoreError as error:
            # The worker releases it when the store is available again.
            text = (
                "Cannot release the conversation or key of the failed response %s until the store "
                "works again: %s"
            )
            log.warning(text, self.identity.response_id, error)

    async def _save(
        self,
        response: Response,
        sealed: Mapping[str, str],
        *,
        append: bool,
        reply: StoredReply | None,
    ) -> None:
        context = self.context
        make = self.retention.of
        stored = await self.offload.run(
            context.tenant, context.work, make, response, context, sealed, self.facts
        )
        try:
            is_saved = await self.store.save(stored, append=append, reply=reply)
        except StoreError:
            if not await self._has(response):
                raise
            is_saved = True
        if not is_saved:
            raise StoreError(
                "Another server took over this response, because this server sent no heartbeat "
                "for too long."
            )
        self.facts = None

    async def _has(self, response: Response) -> bool:
        """Return whether the store has this end, although the save failed: it committed, and its
        reply was lost.
        """
        with suppress(StoreError):
            found = await self.store.read(responses.load, self.identity.tenant, response.id)
            return found is not None and found.status == response.status
        return False

    async def _free_key(self) -> None:
        await self.store.write(
            idempotency.free, self.identity.tenant, self.identity.key, self.identity.response_id
        )

    def _reply(self, response: Response, end: Sequence[Event]) -> StoredReply:
        if self.is_stream:
            body = b"".join([*self._frames, encode(end)])
        else:
            body = encode_json(replace(response, output_text=output_text(response)))
        return StoredReply(self.identity.tenant, self.identity.key, self.is_stream, body)
