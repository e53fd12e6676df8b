"""`Idempotency-Key`: a repeated request is not processed again; it receives the same response."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from antiphon.errors import ClientError, StoreError, log
from antiphon.process import ProcessState
from antiphon.protocol.json_pieces import pieces_by_size
from antiphon.protocol.json_slices import decoded
from antiphon.recording.persistence import RequestIdentity
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import idempotency
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store

LONGEST = 255
"""Characters of a key."""

PATIENCE = 60.0
"""Seconds that a request waits for another one with the same key that is in progress."""

POLL_INTERVAL = 0.5
"""Seconds between two checks of the key without a notification."""


_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """The response is the stream of this background response, from its beginning."""

    tenant: str
    response_id: str


def check_key(key: str) -> None:
    """Raise `ClientError` (400) if a key is empty, too long, or contains other than
    visible ASCII characters.
    """
    if not 0 < len(key) <= LONGEST or not (key.isascii() and key.isprintable()):
        raise ClientError(
            f"Invalid 'Idempotency-Key': expected 1 to {LONGEST} visible ASCII characters.",
            code="invalid_idempotency_key",
            param="Idempotency-Key",
        )


class IdempotencyKeys:
    """The keys of one store, as this process reserves them."""

    def __init__(self, store: Store, process: ProcessState, offload: Offload) -> None:
        self._store = store
        self._process = process
        self._offload = offload

    async def admit(
        self, tenant: str, key: str, path: str, body: bytes, object_id: str
    ) -> RequestIdentity | StoredReply | ReplayLog:
        """Return the stored answer for this request, or the ticket to process it here. It then
        creates the object with this id, such as a response or a file.

        Waits while the same request is in progress. Raises `ClientError`: 422 if the key was used
        with another request, 409 if the other takes too long (specification of bad inputs: the IETF
        draft defines both).
        """
        fingerprint = await self._offload.run(tenant, len(body), _fingerprint, path, body)
        waited = 0.0
        # Registered before it is reserved: a process that holds a lease must send heartbeats.
        self._process.leases.add(object_id)
        try:
            while True:
                found = await self._store.write(
                    idempotency.reserve, tenant, key, fingerprint, object_id, self._process.worker
                )
                if found.fingerprint != fingerprint:
                    raise _reused()
                if found.reply is not None:
                    self._process.leases.discard(object_id)
                    return found.reply if found.reply.body else ReplayLog(tenant, found.response_id)
                if found.response_id == object_id:
                    return RequestIdentity(tenant, object_id, key, size=len(body))
                if waited >= PATIENCE:
                    raise _in_progress()
                with self._process.wakes.expect(found.response_id) as change:
                    if await self._store.read(idempotency.find, tenant, key) == found:
                        await change.wait(POLL_INTERVAL)
                waited += POLL_INTERVAL
        except BaseException:
            self._process.leases.discard(object_id)
            raise

    @asynccontextmanager
    async def hold(self, identity: RequestIdentity) -> AsyncGenerator[None, None]:
        """Hold a reserved key while the request runs; if it fails, the key is free
        for the next attempt.
        """
        try:
            yield
        except BaseException:
            try:
                await self._store.write(
                    idempotency.free, identity.tenant, identity.key, identity.response_id
                )
            except StoreError as trouble:
                text = (
                    "Cannot release the Idempotency-Key of the failed response %s until the store "
                    "works again: %s"
                )
                log.warning(text, identity.response_id, trouble)
            raise
        finally:
            # If the lease remains, the worker releases it.
            self._process.leases.discard(identity.response_id)


def _fingerprint(path: str, body: bytes) -> bytes:
    """Fingerprint a request; the order of keys and the whitespace between them do not matter."""
    digest = hashlib.sha256(path.encode() + b"\0")
    value = decoded(body or b"{}")
    for piece in pieces_by_size(value, len(body), _encode, is_sorted=True):
        digest.update(piece)
    return digest.digest()


def _reused() -> ClientError:
    return ClientError(
        "This Idempotency-Key was used with another request. Use a new key for a new request.",
        status=422,
        code="idempotency_key_reused",
        param="Idempotency-Key",
    )


def _in_progress() -> ClientError:
    return ClientError(
        "A request with this Idempotency-Key is being worked on. Try again in a few seconds.",
        status=409,
        code="idempotency_in_progress",
        param="Idempotency-Key",
        headers={"retry-after": "5"},
    )
