"""The store contract for what backends' refusals taught about models. Lessons belong to the server, not to a tenant."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import StoredLesson

MOST_LESSONS = 1_000
"""Lessons about the models of one backend; the oldest are deleted."""


class Lessons(Protocol):
    """What refusals taught."""

    async def put_lessons(self, lessons: Sequence[StoredLesson], since: int) -> None:
        """Store lessons. Each replaces the same lesson about the same model for the same tenant.

        Lessons about the same backends are deleted if they were learned before `since`, or exceed `MOST_LESSONS`.
        """
        ...

    async def lessons(self, since: int) -> list[StoredLesson]:
        """Return the lessons that were learned from `since` on, by place and model, the oldest first."""
        ...

    async def delete_lessons(self, place: str, model: str) -> int:
        """Delete the lessons about a model; return their number."""
        ...
