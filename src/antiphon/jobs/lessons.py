"""Keeps what refusals taught: stores new lessons, and uses those of other processes
and of earlier runs.
"""

from collections.abc import Iterable, Sequence

from antiphon.errors import StoreError, log
from antiphon.storage.operations import lessons as stored_lessons
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.store import Store
from antiphon.upstream.backend import place_of
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.lessons import LIFE, Lesson

MOST_AT_ONCE = 100
"""Lessons that are stored in one transaction."""


async def synchronise(
    store: Store, states: Sequence[BackendState], now: float
) -> Sequence[StoredLesson]:
    """Store the new lessons, and apply those in the store, which this returns.

    Raises `StoreError` if the store cannot be read. Lessons that cannot be stored hold in this
    process.
    """
    saved: Sequence[Lesson] = ()
    try:
        saved = await store_new(store, states, now)
    except StoreError as error:
        log.debug("Lessons about models cannot be stored: %s", error)
    records = await store.read(stored_lessons.every, int(now) - LIFE)
    use(states, records, saved)
    return records


async def store_new(store: Store, states: Iterable[BackendState], now: float) -> Sequence[Lesson]:
    """Store the lessons that are not stored yet, and return them. Raises `StoreError`."""
    new = [
        (
            one,
            StoredLesson(
                place_of(state.backend), model, one.tenant, one.name, one.stated, one.learned_at
            ),
        )
        for state in states
        for model, lessons in state.lessons.items()
        for one in lessons.new()
    ]
    for start in range(0, len(new), MOST_AT_ONCE):
        await store.write(
            stored_lessons.put,
            [record for _, record in new[start : start + MOST_AT_ONCE]],
            int(now) - LIFE,
        )
    return [one for one, _ in new]


def use(
    states: Iterable[BackendState], records: Sequence[StoredLesson], saved: Sequence[Lesson] = ()
) -> None:
    """Apply the stored lessons to the backends; `saved` are lessons that were stored just now."""
    for state in states:
        place = place_of(state.backend)
        stored: dict[str, list[Lesson]] = {model: [] for model in state.lessons}
        for one in records:
            if one.place == place:
                lesson = Lesson(one.name, one.tenant, one.stated, one.learned_at)
                stored.setdefault(one.model, []).append(lesson)
        for model, lessons in stored.items():
            state.lessons_of(model).follow(lessons, saved)
