"""One call at a time in a container: in this process by a queue, between processes by a lease in
the store.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from antiphon.errors import StoreError, log
from antiphon.ids import new_id
from antiphon.sharing.offload import wait_for_end
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.records.containers import StoredContainer
from antiphon.storage.store import Store

HOLD_SECONDS = 20.0
"""Seconds after which the lease of a dead worker expires."""

RENEW_EVERY = 5.0
"""Seconds between two renewals; also the maximum time until a call in a deleted container is
ended.
"""

WAIT_SECONDS = 600.0
"""Seconds that a call waits for the calls before it in its container."""

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between two attempts to acquire a container that another process has leased."""

T = TypeVar("T")


class ContainerBusyError(Exception):
    """Other calls used the container for too long."""


class LostHoldError(Exception):
    """The container was deleted or has expired during the call, or the store was unreachable for
    too long.
    """


class Queues:
    """The calls of this process that use or wait for each container, first come, first served."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    def has(self, container_id: str) -> bool:
        """Whether a call uses the container or waits for it."""
        return container_id in self._locks

    @asynccontextmanager
    async def turn(self, container_id: str) -> AsyncGenerator[None, None]:
        """Acquire the container in this process. Raises `ContainerBusyError`."""
        lock = self._locks.setdefault(container_id, asyncio.Lock())
        self._waiting[container_id] += 1
        try:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await lock.acquire()
            except TimeoutError as error:
                raise ContainerBusyError from error
            try:
                yield
            finally:
                lock.release()
        finally:
            self._waiting[container_id] -= 1
            if not self._waiting[container_id]:
                del self._waiting[container_id], self._locks[container_id]


class Hold:
    """The lease of one call on a container, between all processes."""

    def __init__(self, containers: Store, tenant: str, container_id: str, worker: str) -> None:
        self._containers = containers
        self._tenant = tenant
        self._container_id = container_id
        self._worker = worker
        self.holder = new_id("hold")

    async def begin(self) -> StoredContainer | None:
        """Acquire the container when no other call uses it; return its previous state, None if
        unknown or expired.

        Raises `ContainerBusyError`, `StoreError`.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        pause = FIRST_PAUSE
        while True:
            found = await self._containers.write(
                stored_containers.hold,
                self._tenant,
                self._container_id,
                self.holder,
                self._worker,
                HOLD_SECONDS,
            )
            if found is None or not found.is_busy:
                return found
            if loop.time() >= until:
                raise ContainerBusyError
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 1.5 * pause)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work, and renew the lease meanwhile.

        If the lease ends, the work is cancelled.

        Raises `LostHoldError`, and errors of the work. In every case, the work has then ended.
        """
        working = asyncio.ensure_future(work)
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise LostHoldError
        finally:
            working.cancel()
            renewing.cancel()
            await wait_for_end(working)
            await wait_for_end(renewing)

    async def _renew(self) -> None:
        """Renew the lease until it has ended."""
        loop = asyncio.get_running_loop()
        until = loop.time() + HOLD_SECONDS
        while True:
            await asyncio.sleep(RENEW_EVERY)
            try:
                if not await self._containers.write(
                    stored_containers.renew_hold,
                    self._tenant,
                    self._container_id,
                    self.holder,
                    HOLD_SECONDS,
                ):
                    return
            except StoreError as error:
                log.warning(
                    "Cannot renew the lease on the container '%s' for a call: %s",
                    self._container_id,
                    error,
                )
                if loop.time() + RENEW_EVERY >= until:
                    return
            else:
                until = loop.time() + HOLD_SECONDS

    async def end(self) -> None:
        """Let the next call begin, also if this one does not hold the lease."""
        ending = asyncio.ensure_future(
            self._containers.write(
                stored_containers.end_hold, self._tenant, self._container_id, self.holder
            )
        )
        await wait_for_end(ending)
        if not ending.cancelled() and (error := ending.exception()) is not None:
            log.warning(
                "The container '%s' stays locked for up to %.0f s: %s",
                self._container_id,
                HOLD_SECONDS,
                error,
            )
