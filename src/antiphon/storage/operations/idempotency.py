"""`Idempotency-Key`s."""

from antiphon.storage.operations.step import Operation, Row, ask, first
from antiphon.storage.records import KeyReservation, Reply

KEPT = 86_400
"""Seconds for which a key is valid."""


def reserve(
    tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str, now: int
) -> Operation[KeyReservation]:
    """Reserve a key, unless it is reserved; return the reservation."""
    reserved = yield from ask("reserve", tenant, key, fingerprint, response_id, worker, now, now - KEPT)
    if reserved and reserved[0][0]:
        yield from ask("revive", worker)  # it had expired, but is active
    row = yield from first("find_key", tenant, key, now - KEPT)
    return _reservation(tenant, key, row or (fingerprint, response_id, worker, None, None))


def find(tenant: str, key: str, now: int) -> Operation[KeyReservation | None]:
    """Return a reservation."""
    row = yield from first("find_key", tenant, key, now - KEPT)
    return _reservation(tenant, key, row) if row else None


def free(tenant: str, key: str, response_id: str) -> Operation[None]:
    """Delete a reservation without a reply."""
    yield from ask("free_key", tenant, key, response_id)


def _reservation(tenant: str, key: str, row: Row) -> KeyReservation:
    fingerprint, response_id, owner, is_stream, reply = row
    answered = None if reply is None else Reply(tenant, key, bool(is_stream), reply)
    return KeyReservation(fingerprint, response_id, owner, answered)
