"""The machines of this process: at most one per container, kept running between calls while there
is capacity.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from antiphon.periodic import Periodic
from antiphon.protocol.containers import MEMORY, MemoryLimit
from antiphon.sandbox.contract import Machine, MachineLimits, Sandbox, SandboxError
from antiphon.storage.containers import find_container
from antiphon.storage.records.containers import ContainerQuota, StoredContainer
from antiphon.storage.store import Store
from antiphon.tools.code.options import SMALLEST

POLL_INTERVAL = 30.0
"""Seconds between two checks for kernels that are idle for too long, or have lost their
container.
"""

MOST_KERNELS = 200
"""Machines of all tenants together that one process keeps running."""

CLOSED = "This server is shutting down."

SPARE_DISK = 16 * 1024 * 1024
"""Bytes of a machine's disk beyond those of its files: the stored files must always fit in
again.
"""

START_SECONDS = 60.0
"""Seconds that the start of a machine can take."""


@dataclass(slots=True)
class Copy:
    """A file of the container, as it is in the machine."""

    file_id: str
    blob: str
    size: int
    version: str
    """The machine's data about its copy; empty until it is known."""


@dataclass(eq=False, slots=True)
class ContainerKernel:
    """A machine with the variables of a container."""

    container_id: str
    tenant: str
    machine: Machine
    calls: int
    """The number of the container's newest call that the machine has run: another worker can run
    later ones.
    """
    idle_seconds: float
    used_at: float
    is_busy: bool = True
    has_lost: bool = False
    """Variables of earlier calls are lost, and the model has not been notified yet."""
    copies: dict[str, Copy] = field(default_factory=dict)
    """The files in the machine, by name."""


class _Watch(Periodic):
    """Ends idle machines."""

    def __init__(self, lookup: Callable[[], Awaitable[None]]) -> None:
        super().__init__(POLL_INTERVAL, "Cannot end idle kernels")
        self._poll = lookup

    async def poll_once(self) -> None:
        await self._poll()


class Kernels:
    """Starts machines, finds them again, and ends the least recently used.

    `is_wanted` returns whether a call waits for its turn in a container: its machine is not idle.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        containers: Store,
        per_tenant: int,
        memory_max: MemoryLimit,
        quota: ContainerQuota,
        is_wanted: Callable[[str], bool] = lambda container_id: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sandbox = sandbox
        self._containers = containers
        self._per_tenant = per_tenant
        self._memory_max = MEMORY[memory_max]
        self._quota = quota
        self._is_wanted = is_wanted
        self._clock = clock
        self._live: dict[str, ContainerKernel] = {}
        self._starting: Counter[str] = Counter()
        self._watch: _Watch | None = None
        self._is_closed = False

    @property
    def live(self) -> int:
        """Machines that run now."""
        return len(self._live)

    @property
    def memory(self) -> int:
        """Bytes of memory that the machines use now."""
        return sum(kernel.machine.memory() for kernel in self._live.values())

    def note_call(self, container: StoredContainer) -> None:
        """Record that a call of this process holds the container, and the container's previous
        state.
        """
        kernel = self._live.get(container.id)
        if kernel is not None and kernel.calls == container.calls:
            kernel.calls += 1

    def find(self, container: StoredContainer) -> ContainerKernel | None:
        """Return the machine with the variables of the container, None if it is lost or in another
        process.

        The call was recorded. The machine is busy from now on, until `rest` or `end`.
        """
        kernel = self._live.get(container.id)
        if kernel is None or kernel.tenant != container.tenant:
            return None
        if not kernel.machine.is_alive or kernel.calls != container.calls + 1:
            return None
        kernel.is_busy = True
        return kernel

    async def start(self, container: StoredContainer) -> ContainerKernel:
        """Return a new machine, without files.

        Raises `SandboxError`, also after `close`, and `TimeoutError`.

        If the container already has a machine here, that is out of date, and is ended.
        """
        if self._is_closed:
            raise SandboxError(CLOSED)
        old = self._live.get(container.id)
        if old is not None:
            await self.end(old)
        await self._make_room(container.tenant)
        self._starting[container.tenant] += 1
        try:
            async with asyncio.timeout(START_SECONDS):
                machine = await self._sandbox.start(self._limits(container))
        finally:
            self._starting[container.tenant] -= 1
        self._begin_watch()
        idle = 60.0 * container.idle_minutes
        kernel = ContainerKernel(
            container.id, container.tenant, machine, container.calls + 1, idle, self._clock()
        )
        kernel.has_lost = container.calls > 0
        self._live[container.id] = kernel
        return kernel

    def rest(self, kernel: ContainerKernel) -> None:
        """Keep a machine running for the next call."""
        kernel.is_busy, kernel.used_at = False, self._clock()

    async def end(self, kernel: ContainerKernel) -> None:
        """End a machine. Its variables are lost."""
        if self._live.get(kernel.container_id) is kernel:
            del self._live[kernel.container_id]
        await kernel.machine.close()

    async def poll_once(self) -> None:
        """End machines that are idle for too long, broken, replaced by another server, or have lost
        their container.
        """
        now = self._clock()
        for kernel in [one for one in self._live.values() if self._is_idle(one)]:
            if now - kernel.used_at >= kernel.idle_seconds or not await self._is_newest(kernel):
                await self._end_idle(kernel)

    def _is_idle(self, kernel: ContainerKernel) -> bool:
        return not (kernel.is_busy or self._is_wanted(kernel.container_id))

    async def _is_newest(self, kernel: ContainerKernel) -> bool:
        if not kernel.machine.is_alive:
            return False
        container = await find_container(self._containers, kernel.tenant, kernel.container_id)
        return (
            container is not None
            and container.status == "running"
            and container.calls == kernel.calls
        )

    async def _end_idle(self, kernel: ContainerKernel) -> None:
        """End a machine unless a call has begun to use it meanwhile."""
        if self._is_idle(kernel):
            await self.end(kernel)

    async def _make_room(self, tenant: str) -> None:
        """End the machines that were idle for longest, of the tenant and then of all, until one
        more has room.
        """
        while self._count(tenant) >= self._per_tenant:
            if not await self._end_oldest(
                one for one in self._live.values() if one.tenant == tenant
            ):
                break
        while len(self._live) + self._starting.total() >= MOST_KERNELS:
            if not await self._end_oldest(self._live.values()):
                break

    def _count(self, tenant: str) -> int:
        return self._starting[tenant] + sum(one.tenant == tenant for one in self._live.values())

    async def _end_oldest(self, kernels: Iterable[ContainerKernel]) -> bool:
        """Return whether there was one that no call uses. Those that a call waits for come last."""
        resting = [one for one in kernels if not one.is_busy]
        if not resting:
            return False
        await self.end(
            min(resting, key=lambda one: (self._is_wanted(one.container_id), one.used_at))
        )
        return True

    def _limits(self, container: StoredContainer) -> MachineLimits:
        wanted = next(
            (size for name, size in MEMORY.items() if name == container.memory_limit),
            MEMORY[SMALLEST],
        )
        memory = min(wanted, self._memory_max)
        size = self._quota.size
        files = self._quota.files
        return MachineLimits(
            memory, file_size=size, disk=size + SPARE_DISK, files=files, owner=container.tenant
        )

    def _begin_watch(self) -> None:
        if self._watch is None:
            self._watch = _Watch(self.poll_once)
            self._watch.start()

    async def close(self) -> None:
        """End every machine."""
        self._is_closed = True
        if self._watch is not None:
            await self._watch.close()
        for kernel in list(self._live.values()):
            await self.end(kernel)
        await self._sandbox.close()
