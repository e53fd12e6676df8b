"""What refusals of backends taught about models."""

from collections.abc import Sequence

from antiphon.storage.contract.lessons import MOST_LESSONS
from antiphon.storage.operations.step import Operation, ask
from antiphon.storage.records import StoredLesson


def put(lessons: Sequence[StoredLesson], since: int) -> Operation[None]:
    """Store or replace lessons, and delete those of the same backends that are too old, or beyond the limit."""
    for one in lessons:
        yield from ask("put_lesson", one.place, one.model, one.tenant, one.name, one.said, one.learned_at)
    for place in sorted({one.place for one in lessons}):
        yield from ask("trim_lessons", place, since, MOST_LESSONS)


def every(since: int) -> Operation[list[StoredLesson]]:
    """Return the lessons that were learned from `since` on."""
    rows = yield from ask("lessons", since)
    return [StoredLesson(*row) for row in rows]


def delete(place: str, model: str) -> Operation[int]:
    """Delete the lessons about a model."""
    return len((yield from ask("delete_lessons", place, model)))
