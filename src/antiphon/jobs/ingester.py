"""A process's ingestion of files: claims waiting files, processes them, and stops when another
worker claims one.

Workers, heartbeats and their expiry are those of background responses (`worker.py`). The code for
ingestion is not loaded before a file waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from antiphon.errors import StoreError, log, reportable
from antiphon.jobs.parts import IngestionParts
from antiphon.sharing.cores import whole_cores
from antiphon.sharing.loading import load
from antiphon.sharing.scheduler import SHARE, FairScheduler
from antiphon.storage.changes import INGESTIONS
from antiphon.storage.operations import ingestions
from antiphon.storage.records.vector_stores import Ingestion
from antiphon.telemetry.context import About, begin
from antiphon.upstream.permitted import permit

Ingest = Callable[[IngestionParts, Ingestion], Awaitable[None]]

POLL_INTERVAL = 1.0
"""Seconds between two checks whether this worker still owns its files."""

IDLE = 30.0
"""Seconds between two checks for waiting files while idle: a notification may be lost."""


def ingestion_turns() -> FairScheduler:
    """Return the slots of a process: a file for each core, and one for a second tenant."""
    return FairScheduler(max(2, whole_cores()), leaves_room=True)


@dataclass(slots=True)
class Ingester:
    """Ingests the files of one process, from `start` to `close`."""

    parts: IngestionParts
    _slots: FairScheduler = field(default_factory=ingestion_turns)
    _running: dict[int, tuple[int, "asyncio.Task[None]"]] = field(default_factory=dict)
    """The version and the task of each file in progress, by its number."""
    _strays: dict[int, float] = field(default_factory=dict)
    """Files that this worker owns in the store without knowing of them,
    with the time of detection.
    """
    _loop: "asyncio.Task[None] | None" = None
    _pending: "asyncio.Future[Ingestion | None] | None" = None
    """The claim that was made last."""
    _skipped: bool = False
    """The last claim skipped files of embedding models that do not answer."""
    _ingest: Ingest | None = None
    """Loaded once a file waits."""

    def start(self) -> None:
        """Start to look for waiting files."""
        self._loop = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Claim no more files, and release those in progress for other workers."""
        loop = self._loop
        self._loop = None
        await _cancel([loop] if loop is not None else [])
        await _cancel([task for _, task in self._running.values()])
        with suppress(StoreError):
            if self._pending is not None:  # a claim in progress may have been granted
                await self._pending
                for seq in await self.parts.store.read(ingestions.owned, self.parts.process.worker):
                    await self.parts.store.write(ingestions.release, self.parts.process.worker, seq)

    async def _run(self) -> None:
        with self.parts.process.wakes.expect(INGESTIONS) as change:
            while True:
                try:
                    await self._poll()
                except StoreError as error:
                    log.debug("Cannot claim files for ingestion: %s", error)
                except Exception as error:
                    reportable(error)  # logs it; the other files must continue
                usual = POLL_INTERVAL if self._running or self._strays else IDLE
                await change.wait(min(usual, self._pause()) if self.parts.outages.known else usual)

    def _pause(self) -> float:
        """Return the seconds until files can try the next embedding model that did not answer."""
        left = self.parts.outages.left()
        if left is None:  # a pause may have ended since the last claim
            return 0.0 if self._skipped else IDLE
        return left

    async def _poll(self) -> None:
        store = self.parts.store
        worker = self.parts.process.worker
        self._skipped = False
        if self._ingest is not None:
            await self._poll_own()
        if not await store.read(ingestions.is_waiting):
            return
        ingest = self._ingest
        if ingest is None:
            self.parts.shared.add("ingestion", self._slots)
            ingest = self._ingest = (await load("antiphon.jobs.ingestion")).ingest
        while not self._slots.is_full:
            here = int(SHARE * self._slots.free)  # the scheduler's limit for one tenant
            paused = self.parts.outages.paused()
            self._skipped = bool(paused)
            self._pending = asyncio.ensure_future(
                store.write(ingestions.claim, worker, here, paused)
            )
            ingestion = await asyncio.shield(self._pending)
            if ingestion is None:
                return
            if not self._slots.take(
                ingestion.file.tenant
            ):  # an outdated version of a file has not ended here yet
                await store.write(ingestions.release, worker, ingestion.seq)
                return
            self._begin(ingestion, ingest)

    def _begin(self, ingestion: Ingestion, ingest: Ingest) -> None:
        self.parts.process.leases.add(_lease(ingestion))
        _, older = self._running.get(ingestion.seq, (0, None))
        if older is not None:  # it ingests a replaced version
            _stop(older)
        task = asyncio.create_task(self._run_ingestion(ingestion, ingest))
        self._running[ingestion.seq] = ingestion.file.version, task

    async def _run_ingestion(self, ingestion: Ingestion, ingest: Ingest) -> None:
        begin(
            About(api_key_id=ingestion.key_id)
        )  # this task may have been created within a request
        permit(())
        try:
            await ingest(self.parts, ingestion)
        except StoreError as error:
            log.warning("Cannot ingest the file %s; retrying: %s", ingestion.file.file_id, error)
            await asyncio.sleep(POLL_INTERVAL)  # this worker may claim the file again at once
            with suppress(StoreError):
                await self.parts.store.write(
                    ingestions.release, self.parts.process.worker, ingestion.seq
                )
        except Exception as error:
            reportable(error)  # logs it; the file is retried once it is detected as a stray
        finally:
            _, newest = self._running.get(ingestion.seq, (0, None))
            if (
                newest is asyncio.current_task()
            ):  # this worker may have claimed a newer version meanwhile
                del self._running[ingestion.seq]
            self.parts.process.leases.discard(_lease(ingestion))
            self._slots.leave(ingestion.file.tenant)
            self.parts.process.wakes.wake(INGESTIONS)

    async def _poll_own(self) -> None:
        """Stop files that others own or have ended; release what this worker owns unknowingly."""
        running = dict(self._running)
        owned = await self.parts.store.read(ingestions.owned, self.parts.process.worker)
        for seq, (version, task) in running.items():
            if owned.get(seq) != version:
                _stop(task)
        now = asyncio.get_running_loop().time()
        self._strays = {
            seq: self._strays.get(seq, now) for seq in owned.keys() - self._running.keys()
        }
        # Only after a while: a check can run between a step in the store and the same step here.
        for seq in [seq for seq, since in self._strays.items() if now - since >= POLL_INTERVAL]:
            await self.parts.store.write(ingestions.release, self.parts.process.worker, seq)


def _lease(ingestion: Ingestion) -> str:
    """Return the name of the lease on this version of the file:
    a worker with a lease sends heartbeats.
    """
    return f"ingestion:{ingestion.seq}:{ingestion.file.version}"


def _stop(task: "asyncio.Task[None]") -> None:
    """Cancel a task once: a second time would interrupt its wait for the end of a child process."""
    if not task.cancelling():
        task.cancel()


async def _cancel(tasks: "Sequence[asyncio.Task[None]]") -> None:
    for task in tasks:
        _stop(task)
    if tasks:
        await asyncio.wait(tasks)
