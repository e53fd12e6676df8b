"""Cached answers of models."""

from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import StoredAnswer


def keep(answer: StoredAnswer) -> Operation[None]:
    """Store or replace an answer."""
    size = len(answer.key) + len(answer.body)
    yield from ask("keep_answer", answer.tenant, answer.key, answer.body, size, answer.used_at, answer.expires_at)


def find(tenant: str, key: bytes, now: int) -> Operation[StoredAnswer | None]:
    """Return an answer."""
    row = yield from first("find_answer", tenant, key, now)
    return StoredAnswer(tenant, key, row[0], row[1]) if row else None


def use(tenant: str, key: bytes, now: int) -> Operation[None]:
    """Record that a cached answer was used."""
    yield from ask("use_answer", tenant, key, now)


def size() -> Operation[int]:
    """Return the bytes that all answers use."""
    (row,) = yield from ask("answers_size")
    return int(row[0])
