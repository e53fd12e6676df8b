"""Records the response of an agent: as that of a model, and the steps of its journal."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from antiphon.agents.journal import Journal
from antiphon.jobs.parts import JobParts
from antiphon.jobs.recorder import BackgroundRecorder, OutdatedJobError
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.recording.persistence import Retention
from antiphon.storage.operations import steps
from antiphon.storage.records.jobs import Job, Progress
from antiphon.storage.records.steps import Step


class AgentRecorder(BackgroundRecorder):
    """Steps that are committed while another commit is being written are written together, by the
    next one: one transaction for all.
    """

    def __init__(self, parts: JobParts, job: Job, retention: Retention, journal: Journal) -> None:
        super().__init__(parts, job, retention)
        self._journal = journal
        self._committed: list[str] = []
        """The keys of steps to write now."""
        self._waiters: list[asyncio.Future[None]] = []
        self._writer: asyncio.Task[None] | None = None
        self._items: dict[int, Sequence[str]] = {}
        """Those of items, by output index, until the items are stored."""
        self._riders: list[str] = []
        """Those that any write takes along."""

    @property
    def key_id(self) -> str:
        """The API key of the request; empty for none."""
        return self._job.taken.key_id

    def add_item(self, output_index: int, keys: Sequence[str]) -> None:
        """Store steps in the transaction of an item."""
        self._items[output_index] = keys

    def ride(self, key: str) -> None:
        """See `StepStore`."""
        self._riders.append(key)

    async def commit(self, keys: Sequence[str]) -> None:
        """See `StepStore`. Raises `CancelledError`, in the run's own task, if the job belongs to
        another worker.
        """
        done = asyncio.get_running_loop().create_future()
        self._committed += keys
        self._waiters.append(done)
        # A task of its own: its waiter can be cancelled, for example by the timeout of its step,
        # while the commit has the steps of others too.
        if self._writer is None:
            self._writer = asyncio.create_task(self._commit())
        await done

    async def flush(self) -> None:
        """Store everything that was emitted."""
        await self.commit(())

    async def load(self, place: int, response_id: str) -> Step | None:
        """See `StepStore`."""
        stored = self._job.response
        response_id = response_id or stored.id
        return await self._parts.store.read(steps.load, stored.tenant, response_id, place)

    async def close(self) -> None:
        """Stop a commit without a waiter."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])

    async def _commit(self) -> None:
        waiting: list[asyncio.Future[None]] = []
        try:
            while self._waiters:
                waiting, self._waiters = self._waiters, []
                async with self._writing:
                    await self._flush()  # the log must have all events before the steps
                    if self._committed or self._riders:
                        await self._save(Progress(self._take_unfinished()))
                for done in waiting:
                    if not done.done():
                        done.set_result(None)
        except OutdatedJobError:
            if self._task is not None and not self._journal.is_closed:
                self._is_outdated = True
                self._task.cancel()
        finally:
            self._writer = None
            for done in (*waiting, *self._waiters):
                done.cancel()  # unless it is done

    async def save(
        self, response: Response, sealed: Mapping[str, str], end: Sequence[Event]
    ) -> None:
        """See `Recorder.save`: the steps that are left are stored with the end."""
        self._last_steps = self._journal.writes(
            [*self._riders, *chain.from_iterable(self._items.values())]
        )
        await super().save(response, sealed, end)

    async def _save(self, progress: Progress) -> None:
        keys, self._committed, self._riders = [*self._committed, *self._riders], [], []
        for index, _ in progress.output:
            keys += self._items.pop(index, ())
        await super()._save(
            replace(progress, steps=self._journal.writes(keys)) if keys else progress
        )
