"""Machines by bubblewrap (`bwrap`): processes of this host in separate namespaces, without
network.
"""

import asyncio
import os
import platform
import shutil
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from antiphon.sandbox import remedies, seccomp
from antiphon.sandbox.arguments import ENDED_FIRST, SHARED, kernel_command, new_identity, options
from antiphon.sandbox.cgroup import Cgroup, delegated
from antiphon.sandbox.channel import KernelChannel
from antiphon.sandbox.connection import MachineConnection
from antiphon.sandbox.contract import MachineLimits, SandboxError
from antiphon.sandbox.cpu import Shares
from antiphon.sandbox.directory import DataDirectory
from antiphon.sandbox.environment import PythonEnvironment, find_environment
from antiphon.sandbox.machine import BubblewrapMachine
from antiphon.sandbox.supervisor import Supervisor
from antiphon.sandbox.usage import MachineUsage
from antiphon.sandbox.watch import MachineWatch
from antiphon.sharing.cores import usable_cores

SECONDS = 20.0
"""Seconds that a machine has to start, on a busy host."""
START = ("/bin/sh", "-c", f'{ENDED_FIRST}; exec "$@"', "sh")
PROBED = MachineLimits(memory=512 * 1024 * 1024)


class Bubblewrap:
    """See `Sandbox`. `python` is the Python for code, with its packages; empty for the server's,
    without packages.

    The machines of an owner have at most so many `cores` together, 0 for all except one.
    """

    def __init__(self, python: str = "", *, cores: float = 0.0, program: str = "bwrap") -> None:
        self._python = python
        self._program = program
        self._host: _Host | None = None
        self._watch = MachineWatch(Shares(cores, cores=usable_cores()))

    async def probe(self) -> str:
        """Start a machine, and run code in it."""
        try:
            machine = await self.start(PROBED)
        except SandboxError as error:
            return str(error)
        try:
            result = await machine.run_code("6 * 7", SECONDS)
        finally:
            await machine.close()
        return (
            ""
            if result.value == "42"
            else remedies.explained(result.printed or result.ending, remedies.HostFacts.read())
        )

    async def start(self, limits: MachineLimits) -> BubblewrapMachine:
        """Return a new machine."""
        if self._host is None:
            self._host = await asyncio.to_thread(_find_host, self._program, self._python)
        try:
            machine = await _started(self._host, limits)
        except OSError as error:
            raise SandboxError(f"Cannot start a machine: {error}.") from error
        machine.on_close = self._watch.discard
        machine.on_call = self._watch.call_begins
        self._watch.add(machine)
        return machine

    async def close(self) -> None:
        """End every machine."""
        await self._watch.close()
        await asyncio.gather(*(machine.close() for machine in list(self._watch.machines)))


@dataclass(frozen=True, slots=True)
class _Host:
    """Facts that are determined once."""

    program: str
    environment: PythonEnvironment
    cgroup: Path | None


def _find_host(program: str, python: str) -> _Host:
    """Blocks: it starts a Python. Raises `SandboxError`."""
    if platform.machine() not in seccomp.MACHINES:
        raise SandboxError(remedies.PROCESSOR)
    found = shutil.which(program)
    if found is None:
        raise SandboxError(remedies.MISSING)
    return _Host(found, find_environment(python), delegated())


async def _started(host: _Host, limits: MachineLimits) -> BubblewrapMachine:
    identity = new_identity()
    async with AsyncExitStack() as stack:
        is_counted = host.cgroup is not None
        connection = MachineConnection.open(
            options(host.environment, limits, identity), is_counted=is_counted
        )
        stack.callback(connection.close)
        cgroup = await asyncio.to_thread(Cgroup, host.cgroup, limits) if host.cgroup else None
        if cgroup:
            stack.push_async_callback(asyncio.to_thread, cgroup.remove)
        enter = cgroup.entry() if cgroup else START
        command = kernel_command(host.environment, limits, identity)
        supervisor = await connection.start(enter, host.program, command)
        channel = KernelChannel(connection.server)
        *directories, first = await _received(supervisor, connection, channel)
        supervisor.adopt(first)
        data = DataDirectory(directories[0], identity.user)
        if cgroup is None:
            await supervisor.lower()
        usage = MachineUsage(directories[1], [os.dup(directories[0]), *directories[2:]], cgroup)
        stack.pop_all()
        return BubblewrapMachine(supervisor, channel, connection.output, data, usage, limits)


async def _received(
    supervisor: Supervisor, connection: MachineConnection, channel: KernelChannel
) -> list[int]:
    """Wait until the kernel program is ready. Raises `SandboxError` with the reason if it fails."""
    try:
        async with asyncio.timeout(SECONDS):
            return await channel.files(1 + len(SHARED) + 1)
    except (SandboxError, TimeoutError) as error:
        await supervisor.end()
        host = await asyncio.to_thread(remedies.HostFacts.read)
        raise SandboxError(remedies.explained(connection.message(), host)) from error
    except BaseException:
        await supervisor.end()
        raise
