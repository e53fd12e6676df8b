"""Machines by bubblewrap (`bwrap`): processes of this host in namespaces of their own, without network."""

import asyncio
import os
import shutil
import socket
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass

from antiphon.sandbox import seccomp
from antiphon.sandbox.arguments import SHARED, command, new_identity
from antiphon.sandbox.channel import Channel
from antiphon.sandbox.contract import MachineLimits, SandboxError
from antiphon.sandbox.directory import DataDirectory
from antiphon.sandbox.environment import PythonEnvironment, find_environment
from antiphon.sandbox.machine import BubblewrapMachine

SECONDS = 20.0
"""How long a machine may take to start, on a busy host."""


class Bubblewrap:
    """See `Sandbox`. `python` is the Python for code, with its packages; empty for the server's, without packages."""

    def __init__(self, python: str = "", *, program: str = "bwrap") -> None:
        self._python = python
        self._program = program
        self._environment: PythonEnvironment | None = None
        self._machines: set[BubblewrapMachine] = set()

    async def probe(self) -> str:
        """Start a machine, and run code in it."""
        try:
            machine = await self.start(MachineLimits(memory=512 * 1024 * 1024))
        except SandboxError as error:
            return str(error)
        try:
            result = await machine.run_code("6 * 7", SECONDS)
        finally:
            await machine.close()
        return "" if result.value == "42" else f"A machine starts, but runs no code: {result.printed or result.ending}"

    async def start(self, limits: MachineLimits) -> BubblewrapMachine:
        """Return a new machine."""
        if self._environment is None:
            self._environment = await asyncio.to_thread(find_environment, self._python)
        program = await asyncio.to_thread(shutil.which, self._program)
        if program is None:
            raise SandboxError("bubblewrap is not installed. Install it: apt-get install bubblewrap.")
        identity, pipes = new_identity(), Pipes.open()
        try:
            arguments = command(program, self._environment, limits, identity, pipes.filter)
            process = await pipes.started(arguments)
        except OSError as error:
            pipes.close()
            raise SandboxError(f"bubblewrap does not start: {error}.") from error
        except BaseException:
            pipes.close()
            raise
        channel = Channel(pipes.server)
        try:
            async with asyncio.timeout(SECONDS):
                directories = await channel.directories(1 + len(SHARED))
        except BaseException as error:
            await _killed(process)
            said = _said(pipes.output)
            channel.close()
            os.close(pipes.output)
            if isinstance(error, SandboxError | TimeoutError):
                raise SandboxError(f"A machine cannot start: {said or error or 'it took too long'}") from error
            raise
        for each in directories[1:]:
            os.close(each)
        data = DataDirectory(directories[0], identity.user)
        machine = BubblewrapMachine(process, channel, pipes.output, data, limits, self._machines.discard)
        self._machines.add(machine)
        return machine

    async def close(self) -> None:
        """End every machine."""
        for machine in list(self._machines):
            await machine.close()


@dataclass(frozen=True, slots=True)
class Pipes:
    """What connects a machine with the server."""

    server: socket.socket
    kernel: socket.socket
    output: int
    """The end from which the server reads."""
    printed: int
    filter: int

    @classmethod
    def open(cls) -> "Pipes":
        server, kernel = socket.socketpair()
        output, printed = os.pipe()
        os.set_blocking(output, False)
        reading, writing = os.pipe()
        os.write(writing, seccomp.program())
        os.close(writing)
        return cls(server, kernel, output, printed, reading)

    async def started(self, arguments: list[str]) -> Process:
        """Start bubblewrap. The server's copies of its ends are closed then."""
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=self.kernel.fileno(),
            stdout=self.printed,
            stderr=self.printed,
            pass_fds=(self.filter,),
            env={},
            cwd="/",
        )
        self._close_theirs()
        return process

    def _close_theirs(self) -> None:
        self.kernel.close()
        os.close(self.printed)
        os.close(self.filter)

    def close(self) -> None:
        """Close everything, of a machine that did not start."""
        self._close_theirs()
        self.server.close()
        os.close(self.output)


async def _killed(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _said(output: int) -> str:
    with suppress(BlockingIOError):
        return os.read(output, 2000).decode(errors="replace").strip()
    return ""
