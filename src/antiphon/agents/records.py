"""Values of a framework in the journal: a later attempt reads them all, before it adds more."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from antiphon.agents.errors import result_too_large
from antiphon.agents.journal import NO_INPUT, Journal
from antiphon.agents.steps import Steps
from antiphon.storage.records.steps import StepState

PREFIX = "record "
"""The beginning of their keys, which have no slash, as those of the server."""


class Record(Struct, frozen=True):
    """A value in the format of the framework."""

    format: str
    data: bytes


class Records:
    """The values of one response, in the order in which they were added."""

    def __init__(self, journal: Journal, steps: Steps, now: Callable[[], float]) -> None:
        self._journal = journal
        self._steps = steps
        self._now = now
        self._count = 0

    async def load(self) -> list[Record]:
        """Return those of earlier attempts."""
        found: list[Record] = []
        while (step := self._journal.find(self._key(), NO_INPUT)) is not None:
            step = await self._steps.whole(step)
            found.append(msgspec.json.decode(step.body, type=Record))
            self._count += 1
        self._journal.has_records = bool(found)
        return found

    async def add(self, record: Record) -> None:
        """Add a value, durably. Raises `AgentError` for one that is too large."""
        key, now = self._key(), int(self._now() * 1000)
        body = msgspec.json.encode(record)
        if len(body) > (most := self._journal.limits.step_bytes):
            raise result_too_large(key, len(body), most)
        self._count += 1
        self._journal.put(key, NO_INPUT, StepState.DONE, body, now, now)
        await self._steps.store.commit([key])

    def _key(self) -> str:
        return f"{PREFIX}{self._count}"
