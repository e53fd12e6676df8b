"""Cached answers of models."""

from antiphon.storage.operations.step import NOW, SHIFT, Operation, first, query_rows, reads, writes
from antiphon.storage.records.tenants import FoundAnswer, StoredAnswer

USED_EVERY = 60
"""Seconds after a recorded use of an answer during which further uses are not recorded."""


@writes("keep_answer")
def put(answer: StoredAnswer) -> Operation[None]:
    """Store an answer. It replaces the tenant's earlier answer with this key."""
    size = len(answer.key) + len(answer.body)
    shift = yield SHIFT
    times = answer.used_at + shift, answer.expires_at + shift
    yield from query_rows("keep_answer", answer.tenant, answer.key, answer.body, size, *times)


@reads("find_answer")
def find(tenant: str, key: bytes) -> Operation[FoundAnswer | None]:
    """Return an answer that has not expired, or None.

    Who returns it to a client records that with `use`.
    """
    now: int = yield NOW
    row = yield from first("find_answer", tenant, key, now)
    return FoundAnswer(row[0], is_use_due=now - row[1] >= USED_EVERY) if row else None


@writes("use_answer")
def use(tenant: str, key: bytes) -> Operation[None]:
    """Record that a cached answer was used."""
    yield from query_rows("use_answer", tenant, key, (yield NOW))


@writes("trim_answers", is_of_all=True, frees=True)
def trim(most_bytes: int, limit: int) -> Operation[int]:
    """Delete up to `limit` of the least recently used answers, while all of them use more than
    `most_bytes`.

    Return the number of deleted answers.
    """
    return len((yield from query_rows("trim_answers", most_bytes, limit)))


@reads("answers_size", is_of_all=True)
def size() -> Operation[int]:
    """Return the bytes that the answers of all tenants use."""
    (row,) = yield from query_rows("answers_size")
    return int(row[0])
