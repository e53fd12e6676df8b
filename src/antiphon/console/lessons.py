"""What refusals of backends taught about their models: the list for administrators, and the end of
a lesson.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from antiphon.objects.pages import JsonObject, not_found, page_of, unknown_bound
from antiphon.protocol.console import LessonsQuery
from antiphon.protocol.validation.refusals import quoted
from antiphon.storage.operations import lessons
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.store import Store
from antiphon.upstream.backend import place_of
from antiphon.upstream.lessons import LIFE
from antiphon.upstream.registry import ModelRegistry


@dataclass(slots=True)
class KnownLessons:
    """The lessons about the models of this server's backends."""

    store: Store
    models: ModelRegistry
    synchronise: Callable[[], Awaitable[Sequence[StoredLesson]]]
    """Stores the new lessons of this process, and returns and applies those of the store. Raises
    `StoreError`.
    """

    async def page(self, query: LessonsQuery) -> JsonObject:
        """Return a page of the lessons that hold, newest first.

        Those that this process has not stored yet are stored first. Raises `ClientError` (400).
        """
        names = {place_of(state.backend): state.name for state in self.models.backends}
        records = [one for one in await self.synchronise() if one.place in names]
        newest = sorted(records, key=lambda one: one.learned_at, reverse=True)
        ids = [id_of(one) for one in newest]
        if query.after and query.after not in ids:
            raise unknown_bound("after", quoted(query.after), "lesson")
        start = ids.index(query.after) + 1 if query.after else 0
        part = newest[start : start + query.limit]
        displayed = [_displayed(one, names[one.place]) for one in part]
        return page_of(displayed, has_more=start + len(part) < len(newest))

    async def forget(self, lesson_id: str) -> StoredLesson:
        """Delete a lesson, and return it. Raises `ClientError` (404) if it is unknown.

        This process has forgotten it then, and others do within seconds. It is learned again if the
        backend refuses it again.
        """
        found = next((one for one in await self.synchronise() if id_of(one) == lesson_id), None)
        if found is None:
            raise not_found("Lesson", lesson_id)
        key = found.place, found.model, found.tenant, found.name
        await self.store.write(lessons.forget, *key)
        await self.synchronise()
        return found


def id_of(lesson: StoredLesson) -> str:
    """Return the id of a lesson: a digest of what identifies it."""
    key = msgspec.json.encode((lesson.place, lesson.model, lesson.tenant, lesson.name))
    return f"lesson_{sha256(key).hexdigest()[:32]}"


def _displayed(lesson: StoredLesson, backend: str) -> JsonObject:
    return {
        "object": "lesson",
        "id": id_of(lesson),
        "backend": backend,
        "model": lesson.model,
        "tenant": lesson.tenant or None,
        "name": lesson.name,
        "said": lesson.stated,
        "learned_at": lesson.learned_at,
        "expires_at": lesson.learned_at + LIFE,
    }
