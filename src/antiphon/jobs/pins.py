"""Ends the responses of pinned agents after all workers of their version have stopped.

A response of a pinned agent moves to a queue of its version when it begins: only workers of that
version claim jobs of it. So the search for the next job is the same for all.

How long a version has had no worker is measured by the clock of this process, in many checks: a
process that was stopped, or a store that failed, ends nothing.
"""

import asyncio

from antiphon.errors import AntiphonError, log
from antiphon.jobs.parts import JobParts
from antiphon.jobs.queue import end
from antiphon.storage.operations import jobs
from antiphon.storage.records.agents import pin_of

CHECK_EVERY = 30.0
"""Seconds."""

AT_ONCE = 64
"""Responses that are ended after one check."""


class PinWatch:
    """The versions that have responses and no worker, as this process has observed them."""

    def __init__(self, parts: JobParts) -> None:
        self._parts = parts
        self._every = min(CHECK_EVERY, parts.agent_limits.pin_wait / 4)
        self._checked_at: float | None = None
        self._missing: dict[str, float] = {}
        """For how many seconds, by the queue of the version."""

    async def check(self) -> None:
        """End what has waited for too long, if it is time for a check."""
        now = asyncio.get_running_loop().time()
        gap = self._every if self._checked_at is None else now - self._checked_at
        if gap < self._every:
            return
        is_first, self._checked_at = self._checked_at is None, now
        store, wait = self._parts.store, self._parts.agent_limits.pin_wait
        waiting = await store.read(jobs.waiting_queues)
        pinned = {queue: pin for queue in waiting if (pin := pin_of(queue)) is not None}
        if pinned:
            await self._parts.agents.refresh(store)
        elapsed = 0.0 if is_first else min(gap, 2 * self._every)
        self._missing = {
            queue: self._missing.get(queue, -elapsed) + elapsed
            for queue, pin in pinned.items()
            if pin not in self._parts.agents.versions
        }
        for queue, missing in self._missing.items():
            if missing >= wait:
                await self._end_all(queue, *pinned[queue])

    async def _end_all(self, queue: str, agent: str, version: str) -> None:
        parts = self._parts
        left = await parts.store.read(jobs.waiting_in, queue, AT_ONCE)
        for tenant, response_id in left:
            job = await parts.store.read(jobs.find_job, tenant, response_id)
            if job is not None and job.queue == queue:
                await end(parts, job, version_unavailable(agent, version))
        log.warning(
            "%d responses of the agent %s failed: no worker of its version %s is running.",
            len(left),
            agent,
            version,
        )


def version_unavailable(agent: str, version: str) -> AntiphonError:
    """Return the error for a response of a pinned agent without a worker of its version."""
    return AntiphonError(
        f"No worker of the agent '{agent}' with the version '{version}' is running, which began "
        "this response. Send the request again.",
        code="agent_version_gone",
    )
