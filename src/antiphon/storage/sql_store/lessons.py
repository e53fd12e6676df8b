"""Methods of the SQL stores for what refusals taught about models."""

from collections.abc import Sequence
from dataclasses import replace

from antiphon.storage.operations import lessons
from antiphon.storage.records import StoredLesson
from antiphon.storage.sql_store.performer import Performer


class SqlLessons(Performer):
    """See `Lessons`."""

    async def put_lessons(self, learned: Sequence[StoredLesson], since: int) -> None:
        """See `Store.put_lessons`."""
        shift = int(self._shift)
        learned = [replace(one, learned_at=one.learned_at + shift) for one in learned] if shift else learned
        await self._write(lambda: lessons.put(learned, since + shift))

    async def lessons(self, since: int) -> list[StoredLesson]:
        """See `Store.lessons`."""
        since += int(self._shift)
        return await self._read(lambda: lessons.every(since))

    async def delete_lessons(self, place: str, model: str) -> int:
        """See `Store.delete_lessons`."""
        return await self._free(lambda: lessons.delete(place, model))
