"""What refusals of backends taught about models. Lessons belong to the server, not to a tenant.

Callers pass and receive times of this process's clock; the stored times are of the store's clock.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.storage.changes import LESSONS
from antiphon.storage.operations.step import SHIFT, Changed, Operation, query_rows, reads, writes
from antiphon.storage.records.lessons import StoredLesson

MOST_LESSONS = 1_000
"""Lessons about the models of one backend; the oldest are deleted."""


@writes("put_lessons", is_of_all=True)
def put(lessons: Sequence[StoredLesson], since: int) -> Operation[None]:
    """Store lessons. Each replaces the same lesson about the same model for the same tenant.

    Lessons about the same backends are deleted if they were learned before `since`, or exceed
    `MOST_LESSONS`.
    """
    yield Changed([LESSONS])
    shift: int = yield SHIFT
    for one in lessons:
        yield from query_rows(
            "put_lesson",
            one.place,
            one.model,
            one.tenant,
            one.name,
            one.stated,
            one.learned_at + shift,
        )
    for place in sorted({one.place for one in lessons}):
        yield from query_rows("trim_lessons", place, since + shift, MOST_LESSONS)


@reads("lessons", is_of_all=True)
def every(since: int) -> Operation[list[StoredLesson]]:
    """Return the lessons that were learned from `since` on, by place and model, the oldest
    first.
    """
    shift: int = yield SHIFT
    rows = yield from query_rows("lessons", since + shift)
    found = [StoredLesson(*row) for row in rows]
    return [replace(one, learned_at=one.learned_at - shift) for one in found]


@writes("delete_lessons", is_of_all=True, frees=True)
def delete(place: str, model: str) -> Operation[int]:
    """Delete the lessons about a model; return their number."""
    yield Changed([LESSONS])
    return len((yield from query_rows("delete_lessons", place, model)))


@writes("forget_lesson", is_of_all=True, frees=True)
def forget(place: str, model: str, tenant: str, name: str) -> Operation[bool]:
    """Delete one lesson; return whether it was stored."""
    yield Changed([LESSONS])
    return bool((yield from query_rows("forget_lesson", place, model, tenant, name)))
