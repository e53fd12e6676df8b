"""`code_interpreter` and hosted `shell`, for all requests of this process (hosted tools, sections 6
and 7).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from antiphon.errors import ClientError, StoreError, log
from antiphon.ids import Clock, NewId, new_id, now
from antiphon.protocol.containers import IDLE_MINUTES, MOST_BYTES, MOST_FILES, MemoryLimit
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.tools import CodeInterpreterTool, ShellTool, Tool
from antiphon.sandbox.contract import Sandbox, SandboxError
from antiphon.sharing.cores import whole_cores
from antiphon.sharing.offload import wait_for_end
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.records.containers import ContainerQuota, StoredContainer, StoredContainerFile
from antiphon.storage.store import Store
from antiphon.tools.base import CodeState, ToolOutcome, Use
from antiphon.tools.code.content import BlobContent
from antiphon.tools.code.files import MachineFiles, Outcome
from antiphon.tools.code.holds import ContainerBusyError, Hold, LostHoldError, Queues
from antiphon.tools.code.inputs import InputCopies, new_parts
from antiphon.tools.code.kernels import ContainerKernel, Kernels
from antiphon.tools.code.options import CodeOptions, read_options
from antiphon.tools.code.output import notes_of_files, notes_of_inputs
from antiphon.tools.code.work import Done, InvalidArgumentsError, Work, nothing_of, work_of

WAITING = 1_000
"""Calls that can wait for their tenant's turn."""

COPY_SECONDS = 300.0
"""Seconds that copying the files of a container into a machine, or out of it, can take."""

SHORTEST_PAUSE = 1.0
"""Seconds of pauses in a call of which the model is informed."""

SPARE_SECONDS = 15.0
"""Seconds beyond its time limit after which a call fails if its machine has not reported the
end.
"""

NAME = "auto"
"""The name of containers that a tool creates."""

LOST_VARIABLES = (
    "Before this call, the variables and imports of earlier calls were lost, since their process "
    "had ended. The files in /mnt/data are the same. Define again what you still need."
)
_STORED = "All variables and imports are lost. The files in /mnt/data are kept."
_ENDINGS = {
    "timeout": "The call was stopped at its time limit of {seconds:g} seconds. " + _STORED,
    "memory": "The call was stopped because it used more memory than its container has, {memory}. "
    + _STORED,
    "lost": "The process of the container ended during the call. " + _STORED,
}
PAUSED = (
    "During the call, its processes were paused for {paused:.0f} s in all: "
    "the code of this tenant used more than its share of the CPU ({cpu:.0f} CPU "
    "seconds in this call). Use fewer processes at once, or do less in one call. "
    "The operator of the server sets the share by code_cores_per_tenant."
)
FILES_LOST = (
    "Files that this call changed could not be read any more: their earlier content is kept."
)
OVERLOADED = "The call was not run: too many calls are waiting on this server. Try again later."
BUSY = "The call was not run: other calls used its container for too long. Try again later."
EXPIRED = (
    "The call was not run: its container has expired or was deleted. "
    "The next response gets a new container."
)
NO_CONTAINERS = (
    "The call was not run: no container could be created, because the limit of running "
    "containers is reached, or the files of the tool are too large for one. "
    "Delete containers that are no longer needed."
)
LOST_HOLD = "The call was ended: its container was deleted or has expired. Its files were deleted."
NO_STORE = (
    "The call failed: the store is unreachable. Whether files of the call were kept is not known."
)
SLOW = "The call failed: its container did not respond in time. " + _STORED


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """The settings of calls and containers."""

    timeout: float = 120.0
    memory_max: MemoryLimit = "4g"
    kernels_per_tenant: int = 10
    running: int = 0
    """Concurrent calls; 0 for two per core."""
    containers_per_tenant: int = 1_000


class CallError(Exception):
    """A call that did not run, or failed. The message is for the model; `reason` is counted."""

    def __init__(self, reason: str, message: str, *, is_rejection: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.is_rejection = is_rejection


def call_turns(limits: CodeLimits) -> FairScheduler:
    """Return the scheduler of a process's calls: one tenant alone leaves a slot free for the next.

    A tenant runs no more calls than it has kernels, so that a call always finds a kernel to
    replace.
    """
    running = limits.running or 2 * whole_cores()
    return FairScheduler(
        running, WAITING, per_tenant=min(limits.kernels_per_tenant, max(1, running - 1))
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """The code or commands to run, the tool, and the conversation."""

    options: CodeOptions
    work: Work
    conversation: Callable[[], Sequence[InputItem]]


class CodeTools:
    """Runs code and commands in containers. It is a `ContainerTools`.

    `worker` names this process in the store; running calls are reported to `shared`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        containers: Store,
        content: BlobContent,
        worker: str,
        limits: CodeLimits | None = None,
        shared: SharedResources | None = None,
        ids: NewId = new_id,
        clock: Clock = now,
    ) -> None:
        self._limits = limits = limits or CodeLimits()
        self._containers = containers
        self._worker = worker
        self._new_id = ids
        self._now = clock
        self._content = content
        self._quota = quota = ContainerQuota(limits.containers_per_tenant, MOST_FILES, MOST_BYTES)
        self._queues = Queues()
        per_tenant = limits.kernels_per_tenant
        most = limits.memory_max
        self._kernels = Kernels(sandbox, containers, per_tenant, most, quota, self._queues.has)
        self._files = MachineFiles(containers, content, quota, ids, clock)
        self._inputs = InputCopies(containers, self._files, content, quota)
        self._turns = (shared or SharedResources()).add("code_calls", call_turns(limits))
        self._calls, self._rejections = Counter[str](), Counter[str]()

    def state(self, sandbox: str) -> CodeState:
        """Return the current state; `sandbox` is its name in the settings."""
        usage = self._turns.usage
        kernels = self._kernels
        calls = dict(self._calls)
        rejections = dict(self._rejections)
        return CodeState(
            sandbox,
            "",
            kernels.live,
            usage.in_use,
            usage.waiting,
            kernels.memory,
            calls,
            rejections,
        )

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for invalid fields, or for features that containers here do not
        have.
        """
        read_options(tool, self._limits.memory_max, path)

    async def container_for(
        self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str
    ) -> str:
        """See `ContainerTools.container_for`."""
        options = read_options(tool, self._limits.memory_max)
        if options.container_id:
            await self._check_container(tenant, options.container_id)
            return options.container_id
        for file_id in options.file_ids:
            if await self._content.find(tenant, file_id) is None:
                raise ClientError(
                    f"No such File object: {file_id[:100]}", status=404, param="tools"
                )
        if newest:
            found = await find_container(self._containers, tenant, newest, is_used=True)
            if found is not None and found.status == "running":
                return newest
        return self._new_id("cntr")

    async def _check_container(self, tenant: str, container_id: str) -> None:
        found = await find_container(self._containers, tenant, container_id, is_used=True)
        if found is None:
            raise ClientError("Container not found.", status=404)
        if found.status != "running":
            raise ClientError("Container is expired.")

    async def run(self, use: Use) -> ToolOutcome:
        """Run one call, after all calls before it in its container."""
        try:
            options = read_options(use.tool, self._limits.memory_max)
            work = work_of(use.name, use.arguments)
            return await self._run(use, _Call(options, work, use.conversation))
        except InvalidArgumentsError as error:
            failure = CallError("invalid", f"The call was not run: {error}", is_rejection=True)
        except ClientError as error:
            failure = CallError(
                "invalid", f"The call was not run: {error.message}", is_rejection=True
            )
        except CallError as error:
            failure = error
        (self._rejections if failure.is_rejection else self._calls)[failure.reason] += 1
        return ToolOutcome(str(failure), nothing_of(use.name), is_failed=True)

    async def _run(self, use: Use, call: _Call) -> ToolOutcome:
        if not self._turns.admits(use.tenant):
            raise CallError("overloaded", OVERLOADED, is_rejection=True)
        try:
            async with self._queues.turn(use.container_id):
                return await self._while_leased(use, call)
        except ContainerBusyError as error:
            raise CallError("busy", BUSY, is_rejection=True) from error
        except LostHoldError as error:
            raise CallError("failed", LOST_HOLD) from error
        except SandboxError as error:
            log.warning("A call in the container '%s' failed: %s", use.container_id, error)
            raise CallError("failed", f"The call failed: {error} {_STORED}") from error
        except StoreError as error:
            log.warning("A call in the container '%s' failed: %s", use.container_id, error)
            raise CallError("failed", NO_STORE) from error
        except TimeoutError as error:
            raise CallError("failed", SLOW) from error

    async def _while_leased(self, use: Use, call: _Call) -> ToolOutcome:
        """Run a call while it holds the lease on its container."""
        hold = Hold(self._containers, use.tenant, use.container_id, self._worker)
        try:
            container = await self._begin(hold, use, call.options)
            self._kernels.note_call(container)
            return await hold.run(self._in_turn(container, hold.holder, call))
        finally:
            await hold.end()

    async def _begin(self, hold: Hold, use: Use, options: CodeOptions) -> StoredContainer:
        """Acquire the container; the first call creates the one that the server chose.

        Raises `CallError`.
        """
        found = await hold.begin()
        if found is None:
            await self._create(use, options)
            found = await hold.begin()
        if found is None:
            raise CallError("gone", EXPIRED, is_rejection=True)
        return found

    async def _create(self, use: Use, options: CodeOptions) -> None:
        tenant = use.tenant
        container_id = use.container_id
        is_chosen = bool(options.container_id)
        if is_chosen or await find_container(self._containers, tenant, container_id) is not None:
            raise CallError("gone", EXPIRED, is_rejection=True)
        files = await self._files.of_tool(tenant, container_id, options.file_ids)
        created_at = int(self._now())
        container = StoredContainer(
            container_id,
            tenant,
            NAME,
            created_at,
            created_at,
            IDLE_MINUTES,
            options.memory_limit,
            options.network_policy,
            is_auto=True,
        )
        if not await self._containers.write(stored_containers.put, container, files, self._quota):
            raise CallError("containers", NO_CONTAINERS, is_rejection=True)

    async def _in_turn(self, container: StoredContainer, holder: str, call: _Call) -> ToolOutcome:
        loop = asyncio.get_running_loop()
        await self._turns.enter(container.tenant, is_patient=True)
        began = loop.time()
        try:
            kernel = self._kernels.find(container) or await self._kernels.start(container)
            return await self._in_kernel(kernel, container, holder, call)
        finally:
            self._turns.leave(container.tenant, loop.time() - began)

    async def _in_kernel(
        self, kernel: ContainerKernel, container: StoredContainer, holder: str, call: _Call
    ) -> ToolOutcome:
        """Run a call with the container's files.

        If it fails, the machine is ended with everything that runs in it.
        """
        is_stored = False
        try:
            async with asyncio.timeout(COPY_SECONDS):
                stored, notes = await self._stored(container, holder, call)
                await self._files.copy_in(kernel, stored)
            async with asyncio.timeout(self._limits.timeout + SPARE_SECONDS):
                done = await call.work.run(kernel.machine, self._limits.timeout)
            outcome = await self._saved(kernel, holder, done)
            is_stored = kernel.machine.is_alive and done.ending == "completed"
        finally:
            if is_stored:
                self._kernels.rest(kernel)
            else:
                await wait_for_end(asyncio.ensure_future(self._kernels.end(kernel)))
        self._calls[done.ending] += 1
        notes += notes_of_files(outcome.created, outcome.left_out)
        return self._result(kernel, container, call.work, done, outcome.created, notes)

    async def _stored(
        self, container: StoredContainer, holder: str, call: _Call
    ) -> tuple[list[StoredContainerFile], list[str]]:
        """Return the files of the container, with those of the tool and of new messages, and notes
        for the model.
        """
        stored = await self._with_tool_files(container, call.options, holder)
        parts = new_parts(call.conversation(), container.id)
        if not parts:
            return stored, []
        inputs = await self._inputs.copy(container, parts, stored, holder)
        return [*stored, *inputs.rows], notes_of_inputs(inputs.paths, inputs.left_out)

    async def _with_tool_files(
        self, container: StoredContainer, options: CodeOptions, holder: str
    ) -> list[StoredContainerFile]:
        tenant = container.tenant
        container_id = container.id
        stored = await self._files.stored(tenant, container_id)
        paths = [file.path for file in stored]
        missing = [one for one in options.file_ids if not any(f"/{one}-" in path for path in paths)]
        files = await self._files.of_tool(tenant, container_id, missing)
        if files:
            put = stored_containers.put_files
            saved = await self._containers.write(
                put, tenant, container_id, files, self._quota, holder
            )
            stored += saved or ()
        return stored

    async def _saved(self, kernel: ContainerKernel, holder: str, done: Done) -> Outcome:
        """Store the files that a call created. A machine that has ended may no longer have them."""
        try:
            async with asyncio.timeout(COPY_SECONDS):
                return await self._files.copy_out(kernel, holder, done.figures)
        except (SandboxError, TimeoutError):
            if done.ending == "completed":
                raise
            return Outcome(left_out=[FILES_LOST])

    def _result(
        self,
        kernel: ContainerKernel,
        container: StoredContainer,
        work: Work,
        done: Done,
        created: Sequence[CreatedFile],
        notes: list[str],
    ) -> ToolOutcome:
        if done.ending in _ENDINGS:
            limit = _ENDINGS[done.ending]
            notes.append(limit.format(seconds=self._limits.timeout, memory=container.memory_limit))
        elif work.needs_variables and kernel.has_lost:
            notes.append(LOST_VARIABLES)
            kernel.has_lost = False
        if done.spent.paused >= SHORTEST_PAUSE:
            notes.append(PAUSED.format(paused=done.spent.paused, cpu=done.spent.cpu))
        is_failed = done.ending != "completed"
        spent = done.spent
        return ToolOutcome(
            done.text(notes),
            done.fields,
            is_failed,
            files=created,
            cpu=spent.cpu,
            paused=spent.paused,
        )

    async def close(self) -> None:
        """End every machine. Files are retained."""
        await self._kernels.close()
