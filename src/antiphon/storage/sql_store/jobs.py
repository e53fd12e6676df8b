"""Background response methods of the SQL stores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_struct

from antiphon.storage.contract import Pulse
from antiphon.storage.operations import jobs
from antiphon.storage.records import (
    NOTHING_RESERVED,
    ONE_SLOT,
    SOONEST,
    Announcement,
    Backlog,
    Deferral,
    Frames,
    Job,
    LockResult,
    Progress,
    Reply,
    Reservation,
    Slots,
    StoredResponse,
    Tail,
)
from antiphon.storage.sql_store.performer import Performer


class SqlJobs(Performer):
    """See `Jobs`."""

    async def enqueue(
        self,
        response: StoredResponse,
        request: bytes,
        frames: Sequence[Frames],
        reply: Reply | None = None,
        taken: Reservation = NOTHING_RESERVED,
        *,
        most: int | None = None,
        deferral: Deferral = SOONEST,
    ) -> LockResult:
        """See `Store.enqueue`."""
        response = self._dated(response)
        if deferral.begin_by:
            deferral = replace_struct(deferral, begin_by=deferral.begin_by + int(self._shift))
        outcome = await self._write(
            lambda: jobs.enqueue(response, request, frames, reply, taken, most, deferral), response.tenant
        )
        self._tell_all([response.id])
        return outcome

    async def claim(
        self, worker: str, per_tenant: int, per_tenant_here: int | None = None, slots: Slots = ONE_SLOT
    ) -> Job | None:
        """See `Store.claim`."""
        here = per_tenant if per_tenant_here is None else per_tenant_here
        claimed = await self._write(lambda: jobs.claim(worker, per_tenant, here, slots, self._now()))
        if claimed is None:
            return None
        job, returned = claimed
        if job.lost:
            self._tell(job.response.id)  # its unfinished events were deleted
        if returned:
            self._tell_all(returned)
        return job

    async def advance(self, job: Job, progress: Progress) -> Job | None:
        """See `Store.advance`."""
        newer = await self._write(lambda: jobs.advance(job, progress), job.response.tenant)
        self._tell(job.response.id)
        return newer

    async def finish(
        self,
        job: Job,
        response: StoredResponse,
        frames: Sequence[Frames] = (),
        *,
        append: bool = False,
        announcement: Announcement | None = None,
    ) -> bool:
        """See `Store.finish`."""
        response = self._dated(response)
        if announcement is not None:
            announcement = replace(announcement, created_at=announcement.created_at + int(self._shift))
        is_kept = await self._write(lambda: jobs.finish(job, response, frames, append, announcement), response.tenant)
        self._tell(response.id)
        return is_kept

    async def find_job(self, tenant: str, response_id: str, *, few: bool = False) -> Job | None:
        """See `Store.find_job`."""
        return await self._read(lambda: jobs.find_job(tenant, response_id, few), tenant)

    async def backlog(self, lead: int = 0) -> Backlog:
        """See `Store.backlog`."""
        return await self._read(lambda: jobs.backlog(int(self._now()) - lead))

    async def owned(self, worker: str) -> Mapping[str, int]:
        """See `Store.owned`."""
        return await self._read(lambda: jobs.owned(worker))

    async def held(self, worker: str) -> Sequence[str]:
        """See `Store.held`."""
        return await self._read(lambda: jobs.held(worker))

    async def release(self, worker: str, response_id: str) -> None:
        """See `Store.release`."""
        await self._write(lambda: jobs.release(worker, response_id))
        self._tell(response_id)

    async def heartbeat(self, worker: str) -> None:
        """See `Store.heartbeat`."""
        await self._write(lambda: jobs.beat(worker))

    def pulse(self, worker: str) -> Pulse | None:
        """See `Store.pulse`."""
        return None

    async def heartbeats(self) -> Mapping[str, int]:
        """See `Store.heartbeats`."""
        return await self._read(jobs.beats)

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        """See `Store.expire_worker`."""
        changed = await self._write(lambda: jobs.retire(worker) if beat is None else jobs.expire(worker, beat))
        self._tell_all(changed)
        return changed is not None

    async def release_job(self, worker: str, response_id: str) -> None:
        """See `Store.release_job`."""
        self._tell_all(await self._write(lambda: jobs.give_back(worker, response_id)))

    async def tail(self, tenant: str, response_id: str, after: int) -> Tail | None:
        """See `Store.tail`."""
        return await self._read(lambda: jobs.tail(tenant, response_id, after, self._now()), tenant)

    def on_change(self, listener: Callable[[str], None]) -> None:
        """See `Store.on_change`."""
        self._listeners.append(listener)
