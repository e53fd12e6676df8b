"""Stores a background response while it runs: its events, its completed items, and its end."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from antiphon.access.spending import SpentTokens
from antiphon.errors import StoreError, log
from antiphon.history.context import CHAINABLE, Context
from antiphon.history.encoding import store_item
from antiphon.jobs.parts import JobParts
from antiphon.protocol.events import (
    Event,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
)
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.response import Response
from antiphon.recording.checkpoints import Checkpoint, to_bytes
from antiphon.recording.persistence import Retention, with_expiry
from antiphon.runs.run import KEEPALIVE_AFTER
from antiphon.storage.operations import jobs, responses
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.jobs import EventFrames, Job, Progress, Reservation
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.steps import StepWrite
from antiphon.storage.store import Store
from antiphon.translation.wire import encode
from antiphon.webhooks.announcement import announcement_of

FLUSH_EVERY = 0.04
"""Seconds for which events are collected before they are written: the delay of readers, and the
number of writes.
"""

VISIBLE_AFTER = 1.0
"""Seconds after which an open item of a response without a stream is written, so that a client that
cancels it receives the item so far, from any server. Items that close sooner cost no such write.
"""

TRY_AGAIN = 0.5
"""Seconds between two attempts to write while the store fails: the response waits for it."""

QUEUED = 2
"""Events of the log of a stream that were written when the job was queued."""

R = TypeVar("R")


class OutdatedJobError(Exception):
    """The job has a newer version: another process claimed it, or ended it.

    A run that is cancelled for it has the outcome `queued` (`StopReason.HANDED_ON`) if the job
    still exists; the worker counts it as `lost`.
    """


LARGE = 1024 * 1024
"""Bytes of events above which each is stored separately: a replay reads and sends one
of them at once.
"""


def frames_of(events: Sequence[Event], *, have_images: bool = False) -> list[EventFrames]:
    """Return events as they are stored for replay; those that `have_images`
    with references to these.
    """
    if have_images:
        from antiphon.protocol.stored_images import as_logged  # noqa: PLC0415 - few responses make images

        events = list(map(as_logged, events))
    body = encode(events)
    if len(body) <= LARGE or len(events) == 1:
        return [EventFrames(events[0].sequence_number, events[-1].sequence_number, body)]
    return [
        EventFrames(event.sequence_number, event.sequence_number, encode([event]))
        for event in events
    ]


def _identity(response: StoredResponse) -> tuple[bytes, list[str]]:
    """Return what differs between the ends that two workers store for a response."""
    return response.body, [item.id for item in response.output]


async def has_ended_as(store: Store, ended: StoredResponse) -> bool:
    """Return whether an earlier attempt stored this end: its acknowledgement can be lost."""
    found = await store.read(responses.load, ended.tenant, ended.id)
    return found is not None and _identity(found) == _identity(ended)


class RecordedRun(Protocol):
    """What computes a background response: the run of a model, or of an agent."""

    @property
    def context(self) -> Context:
        """Its history and input."""
        ...

    @property
    def sealed(self) -> Mapping[str, str]:
        """What is sealed with its items, by their ids."""
        ...

    def events(self) -> AsyncGenerator[list[Event], None]:
        """Run the response, and store its end."""
        ...

    def keepalive_events(self) -> list[Event]:
        """Return the events to store after a silence."""
        ...

    def spent(self) -> SpentTokens:
        """Return the tokens used."""
        ...


class BackgroundRecorder:
    """Records one job, run by `run`, which must be set before `record` is called.

    Its task is cancelled when another worker has claimed the job. `leave` and `drop` write nothing:
    the worker returns an unfinished job to the queue.
    """

    _last_steps: Sequence[StepWrite] = ()
    """Steps of an agent that are stored with the end."""

    def __init__(self, parts: JobParts, job: Job, retention: Retention) -> None:
        self._parts = parts
        self._job = job
        self._retention = retention
        self._task: asyncio.Task[Any] | None = None
        self._is_outdated = False
        self.run: RecordedRun
        self._pending: list[Event] = []
        self._unfinished: list[Event] = []
        """Events of open items that are not written yet, of a response without a stream."""
        self._unfinished_since = 0.0
        self._open = 0
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self._done: list[tuple[int, StoredItem]] = []
        self._is_stored = False
        self._has_images = False
        """An image was generated; images are not stored in the log."""
        self.sees_events = False
        self.facts: Facts | None = None

    async def record(self) -> None:
        """Run the response to its end. Raises `OutdatedJobError` if the job is outdated."""
        self._task = asyncio.current_task()
        self._flushing = asyncio.create_task(self._flush_often())
        try:
            async with aclosing(self.run.events()) as batches:
                async for batch in batches:
                    self.add(batch)
        except asyncio.CancelledError:
            if not self._is_outdated or self._task is None:
                raise
            self._task.uncancel()
            raise OutdatedJobError from None
        finally:
            self._flushing.cancel()
            with suppress(asyncio.CancelledError):
                await self._flushing
            self._charge()

    def add(self, batch: Sequence[Event]) -> None:
        """Add events; they are written soon."""
        self._pending += batch
        self._news.set()

    def see(self, batch: Sequence[Event]) -> None:
        """See `Recorder.see`: `add` has them."""

    async def save(
        self, response: Response, sealed: Mapping[str, str], end: Sequence[Event]
    ) -> None:
        """See `Recorder.save`. Raises `OutdatedJobError` if the job is outdated."""
        async with self._writing:
            self._flushing.cancel()
            events = [*self._pending, *end]
            self._pending = []
            context = self.run.context
            make = self._retention.of
            saved = await self._parts.run.offload.run(
                context.tenant, context.work, make, response, context, sealed, self.facts
            )
            stored = with_expiry(saved, self._parts.run.now())
            end_of_job = partial(
                self._parts.store.write,
                jobs.finish,
                self._job,
                stored,
                frames_of(events, have_images=self._has_images) if stored.is_streamed else [],
                append=response.status in CHAINABLE,
                announcement=announcement_of(self._parts.run.new_id, self._parts.run.now, response),
                last_steps=self._last_steps,
            )
            self._is_stored = await self._end_job(end_of_job, stored)
            if not self._is_stored:
                raise OutdatedJobError

    async def _end_job(
        self, write: Callable[[], Coroutine[Any, Any, bool]], stored: StoredResponse
    ) -> bool:
        """Store the end; return whether it is stored, also if the acknowledgement was lost.

        A worker cancels the runs of jobs that it does not own any more. This end can be the reason.
        """
        writing: asyncio.Task[bool] | None = None

        async def attempt() -> bool:
            nonlocal writing
            writing = asyncio.create_task(write())
            return await asyncio.shield(writing)

        try:
            return await self._persist(attempt) or await self._persist(
                lambda: has_ended_as(self._parts.store, stored)
            )
        except asyncio.CancelledError:
            # Each check of the worker cancels again; a slow store takes longer than that.
            settling = asyncio.create_task(self._settle(writing, stored))
            while not settling.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(settling)
            raise

    async def _settle(self, writing: "asyncio.Task[bool] | None", stored: StoredResponse) -> None:
        """Find out whether the end is stored, after the run was cancelled."""
        if writing is not None:
            # The store completes it in any case.
            await asyncio.gather(writing, return_exceptions=True)
        with suppress(StoreError):
            self._is_stored = await has_ended_as(self._parts.store, stored)

    async def leave(self, response: Response, sealed: Mapping[str, str]) -> bool:
        """See `Recorder.leave`: it continues, here or on another server, unless it was
        ended from outside.
        """
        with suppress(StoreError):
            stored = self._job.response
            return (
                await self._parts.store.read(jobs.find_job, stored.tenant, stored.id, few=True)
                is None
            )
        return False

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """See `Checkpoints`. Raises `CancelledError`, in the run's own task, if the job belongs
        to another worker.
        """
        try:
            async with self._writing:
                await self._flush()  # the log must have all events before the calls
                await self._save(Progress(self._take_unfinished(), checkpoint=to_bytes(checkpoint)))
        except OutdatedJobError:
            self._is_outdated = True
            raise asyncio.CancelledError from None

    async def drop(self) -> None:
        """See `Recorder.drop`."""

    def _charge(self) -> None:
        """Count the tokens of this attempt; the one that ends the job counts the request,
        and settles reservations.
        """
        job = self._job
        owner = self._job.taken
        if not owner.key_id:
            return
        settled = Reservation(owner.key_id, cost=None if owner.cost is None else 0)
        taken, requests = (owner, 1) if self._is_stored else (settled, 0)
        self._parts.meter.charge(
            job.response.tenant, taken, job.response.created_at, requests, self.run.spent()
        )

    async def _flush_often(self) -> None:
        try:
            while True:
                await self._wait()
                async with self._writing:
                    await self._flush()
        except OutdatedJobError:
            self._is_outdated = True
            if self._task is not None:
                self._task.cancel()

    async def _wait(self) -> None:
        """Wait for events, and a moment longer for those that follow immediately."""
        while not self._pending:
            self._news.clear()
            try:
                async with asyncio.timeout(VISIBLE_AFTER if self._unfinished else KEEPALIVE_AFTER):
                    await self._news.wait()
            except TimeoutError:
                if self._unfinished:
                    return
                self.add(self.run.keepalive_events())
        await asyncio.sleep(FLUSH_EVERY)

    async def _flush(self) -> None:
        batch = self._pending
        self._pending = []
        stored = self._note(batch)
        for events, is_resume_point in ((batch[:stored], True), (batch[stored:], False)):
            if events:
                await self._advance(events, is_resume_point)
        if self._unfinished and not batch:  # silence
            await self._save(Progress(self._take_unfinished()))

    def _note(self, batch: Sequence[Event]) -> int:
        """Note the items that close; return how many events precede the last resume point."""
        stored = 0
        for count, event in enumerate(batch, 1):
            if isinstance(event, ResponseOutputItemAddedEvent):
                self._open += 1
            elif isinstance(event, ResponseOutputItemDoneEvent):
                self._open -= 1
                self._has_images |= type(event.item) is ImageGenerationCall
                self._done.append((event.output_index, self._stored(event.item)))
            if not self._open:
                stored = count
        return stored

    def _stored(self, item: Any) -> StoredItem:
        return store_item(item, self.run.sealed.get(item.id))

    async def _advance(self, events: Sequence[Event], is_resume_point: bool) -> None:
        output, self._done = (self._done, []) if is_resume_point else ((), self._done)
        frames = (
            frames_of(events, have_images=self._has_images)
            if self._retention.is_streamed
            else self._delayed(events, is_resume_point)
        )
        if not (frames or output):
            return
        await self._save(Progress(frames, output, is_resume_point))

    def _delayed(self, events: Sequence[Event], is_resume_point: bool) -> Sequence[EventFrames]:
        """Take events without readers; return those of open items once the oldest has
        waited for `VISIBLE_AFTER`.
        """
        now = asyncio.get_running_loop().time()
        if is_resume_point:
            self._unfinished = []
            return ()
        if not self._unfinished:
            self._unfinished_since = now
        self._unfinished += events
        return self._take_unfinished() if now - self._unfinished_since >= VISIBLE_AFTER else ()

    def _take_unfinished(self) -> Sequence[EventFrames]:
        events = self._unfinished
        self._unfinished = []
        return frames_of(events, have_images=self._has_images) if events else ()

    async def _save(self, progress: Progress) -> None:
        newer = await self._persist(
            lambda: self._parts.store.write(jobs.advance, self._job, progress)
        )
        if newer is None:
            raise OutdatedJobError
        self._job = newer

    async def _persist(self, write: Callable[[], Awaitable[R]]) -> R:
        """Write, and wait for the store while it fails: the model's output must not be lost."""
        is_logged = False
        while True:
            try:
                return await write()
            except StoreError as error:
                if not is_logged:
                    log.warning("Cannot store a background response; retrying: %s", error)
                is_logged = True
                await asyncio.sleep(TRY_AGAIN)
