"""`Idempotency-Key`s."""

from antiphon.storage.operations.step import (
    NOW,
    Changed,
    Operation,
    Row,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.tenants import KeyReservation, StoredReply

RETAINED = 86_400
"""Seconds for which a key is valid."""


@writes("reserve")
def reserve(
    tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str
) -> Operation[KeyReservation]:
    """Reserve a key for a response that the worker will run, unless it is reserved; return the
    reservation.
    """
    now: int = yield NOW
    reserved = yield from query_rows(
        "reserve", tenant, key, fingerprint, response_id, worker, now, now - RETAINED
    )
    if reserved and reserved[0][0]:
        yield from query_rows("revive", worker)  # it had expired, but is active
    row = yield from first("find_key", tenant, key, now - RETAINED)
    return _reservation(tenant, key, row or (fingerprint, response_id, worker, None, None))


@reads("find_key")
def find(tenant: str, key: str) -> Operation[KeyReservation | None]:
    """Return the reservation of this key, or None."""
    now: int = yield NOW
    row = yield from first("find_key", tenant, key, now - RETAINED)
    return _reservation(tenant, key, row) if row else None


@writes("answer_key")
def answer(reply: StoredReply, response_id: str, answered_by: str) -> Operation[None]:
    """Store the reply for the key that is reserved for a response, unless it is reserved for it no
    more. `answered_by` is the response in the reply: it can be an earlier one.
    """
    yield Changed([response_id])
    values = reply.tenant, reply.key, response_id, int(reply.is_stream), reply.body
    yield from query_rows("answer_key", *values, answered_by)


@writes("free_key", frees=True)
def free(tenant: str, key: str, response_id: str) -> Operation[None]:
    """Release the reservation if it belongs to this response and has no reply."""
    yield Changed([response_id])
    yield from query_rows("free_key", tenant, key, response_id)


def _reservation(tenant: str, key: str, row: Row) -> KeyReservation:
    fingerprint, response_id, owner, is_stream, reply = row
    answered = None if reply is None else StoredReply(tenant, key, bool(is_stream), reply)
    return KeyReservation(fingerprint, response_id, owner, answered)
