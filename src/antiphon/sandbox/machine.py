"""One bubblewrap machine: a process that holds all others, a socket to its kernel, a pipe for its
output.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import suppress

from antiphon.sandbox.channel import CodeReply, CommandReply, KernelChannel, R
from antiphon.sandbox.contract import (
    CodeResult,
    CommandResult,
    Ending,
    FoundFile,
    MachineLimits,
    SandboxError,
    Spent,
)
from antiphon.sandbox.directory import DataDirectory, checked
from antiphon.sandbox.printed import Printed
from antiphon.sandbox.supervisor import Supervisor
from antiphon.sandbox.usage import MachineUsage

PART = 1024 * 1024
"""Bytes of a file that are copied at once."""
NOTE = 64
"""Characters of the note about omitted output."""
GRACE = 5.0
"""Seconds that the kernel has to end a command after its time limit."""


class BubblewrapMachine:
    """See `Machine`."""

    def __init__(
        self,
        supervisor: Supervisor,
        channel: KernelChannel,
        printed: int,
        data: DataDirectory,
        usage: MachineUsage,
        limits: MachineLimits,
    ) -> None:
        self._supervisor = supervisor
        self._channel = channel
        self._pipe = printed
        self._data = data
        self._usage = usage
        self._limits = limits
        self.on_close: Callable[[BubblewrapMachine], None] = lambda _: None
        self.on_call: Callable[[BubblewrapMachine], None] = lambda _: None
        self._ending: Ending = "completed"
        self._memory = 0
        self._settled = self._paused = self._paused_at = 0.0
        self._call = asyncio.Lock()
        """Held by the running call: its files stay open until it has ended."""
        self._is_closed = False

    @property
    def is_alive(self) -> bool:
        """Whether the machine still runs, with its variables."""
        return self._ending == "completed" and not self._supervisor.has_ended

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return self._call.locked()

    @property
    def is_enforced(self) -> bool:
        """Whether the kernel limits the memory."""
        return self._usage.is_enforced

    @property
    def owner(self) -> str:
        """The owner of the machine (`MachineLimits.owner`)."""
        return self._limits.owner

    @property
    def is_paused(self) -> bool:
        """Whether its processes are stopped also while a call runs."""
        return self._usage.is_paused

    async def put(self, name: str, content: AsyncIterable[bytes]) -> None:
        """Write a file into `DATA`.

        Raises `ValueError` unless `name` is one path component, and `SandboxError`.
        """
        checked(name)
        self._check()
        try:
            file, temporary = await asyncio.to_thread(self._data.create)
            try:
                await self._copied(file, name, content)
                self._data.rename(temporary, name)
            except BaseException:
                self._data.remove(temporary)
                raise
            finally:
                os.close(file)
        except OSError as error:
            raise SandboxError(
                f"The file {name!r} cannot be written into the machine: {error.strerror}."
            ) from error

    async def _copied(self, file: int, name: str, content: AsyncIterable[bytes]) -> None:
        size = 0
        async for part in content:
            size += len(part)
            if size > self._limits.file_size:
                raise SandboxError(
                    f"The file {name!r} is larger than {self._limits.file_size} bytes."
                )
            await asyncio.to_thread(_written, file, part)

    async def files(self) -> Sequence[FoundFile]:
        """Return the regular files in `DATA`, also after the end of the machine."""
        self._check(is_alive=False)
        try:
            return await asyncio.to_thread(self._data.files, self._limits.files)
        except OSError as error:  # closed meanwhile
            raise SandboxError(f"The machine is lost: {error}.") from error

    async def read(self, name: str, limit: int) -> AsyncGenerator[bytes, None]:
        """Yield the content of a file in `DATA`, also after the end of the machine."""
        self._check(is_alive=False)
        file = await asyncio.to_thread(self._data.open, name)
        try:
            while limit > 0 and (part := await asyncio.to_thread(os.read, file, min(PART, limit))):
                limit -= len(part)
                yield part
        finally:
            os.close(file)

    async def run_code(self, code: str, seconds: float) -> CodeResult:
        """Run Python code. At its time limit the machine ends."""
        reply = CodeReply("")
        async with self._call:
            self._check()
            before = self._spent()
            printed = Printed(self._pipe, self._limits.output)
            try:
                reply = await self._called(CodeReply, seconds, code=code)
            except SandboxError:
                pass  # the ending reports it
            finally:
                text = printed.end()
        value = reply.value[: self._limits.output]
        return CodeResult(text, reply.images(), value, self._ending, self._spent() - before)

    async def run_command(self, command: str, seconds: float, output: int) -> CommandResult:
        """Run a shell command. At its time limit only the command ends."""
        call = {"command": command, "seconds": seconds, "output": output}
        async with self._call:
            self._check()
            before = self._spent()
            printed = Printed(
                self._pipe, 1
            )  # from threads of earlier code, which would wait for a reader
            try:
                reply = await self._called(CommandReply, seconds + GRACE, **call)
            except SandboxError:
                return CommandResult(
                    exit_code=None, ending=self._ending, spent=self._spent() - before
                )
            finally:
                printed.end()
        ending: Ending = "timeout" if reply.timed_out else "completed"
        stdout = cut(reply.stdout, output)
        stderr = cut(reply.stderr, output)
        return CommandResult(stdout, stderr, reply.exit_code, ending, self._spent() - before)

    async def _called(self, kind: type[R], limit: float, **call: object) -> R:
        """Return the reply to a call, with all processes stopped.

        Before this raises, the machine has ended.
        """
        try:
            await asyncio.to_thread(self._usage.resume)
            self.on_call(self)
            async with asyncio.timeout(limit):
                reply = await self._channel.call(kind, **call)
            await asyncio.to_thread(self._usage.stop)
        except TimeoutError as error:
            await self.end("timeout")
            raise SandboxError("The call exceeded its time limit.") from error
        except OSError as error:  # processes that are stopped would not answer
            await self.end("lost")
            raise SandboxError(f"The machine is lost: {error.strerror}.") from error
        except BaseException:
            await self.end("memory" if self._usage.has_killed() else "lost")
            raise
        return reply

    def count(self) -> None:
        """Count memory and CPU time. Blocks for some 10 ms: call it in a thread."""
        self._usage.count_locks()
        self.count_memory()
        self._usage.count_cpu()

    def count_memory(self) -> int:
        """Count the memory, with the locks of the last `count`; return how much is left, and end a
        machine without any.

        Blocks for a moment: call it in a thread.
        """
        self._memory = self._usage.memory()
        left = self._limits.memory - self._memory
        if left < 0 and not self.is_enforced and self._ending == "completed":
            self._ending = "memory"
            with suppress(OSError):  # some may still run, until the first process ends them
                self._usage.halt()
            self._supervisor.kill()
        return left

    def memory(self) -> int:
        """Return the bytes of memory that were counted last."""
        return self._memory if self.is_alive else 0

    def new_cpu(self) -> float:
        """Return the CPU seconds that were counted since this was called last."""
        before = self._settled
        self._settled = self._usage.cpu
        return self._settled - before

    def pause(self, *, is_paused: bool) -> None:
        """Stop all processes although a call runs, or let them continue.

        Blocks for a moment. Raises `OSError`.
        """
        self._paused, self._paused_at = self._spent().paused, time.monotonic()
        self._usage.pause(is_paused=is_paused)

    def _spent(self) -> Spent:
        """Return what the machine took since its start, at the last count."""
        pausing = time.monotonic() - self._paused_at if self.is_paused else 0.0
        return Spent(self._usage.cpu, self._paused + pausing)

    async def end(self, ending: Ending) -> None:
        """End all processes of the machine; its files remain. The first ending counts."""
        if self._ending == "completed":
            self._ending = ending
        await self._supervisor.end()

    async def close(self) -> None:
        """End the machine with all its processes, and delete its files."""
        if self._is_closed:
            return
        self._is_closed = True
        self.on_close(self)
        await self.end("lost")
        async with self._call:
            self._channel.close()
            os.close(self._pipe)
            await asyncio.to_thread(self._released)

    def _released(self) -> None:
        self._data.close()
        self._usage.close()

    def _check(self, *, is_alive: bool = True) -> None:
        if self._is_closed or (is_alive and not self.is_alive):
            raise SandboxError("The machine is lost: it has ended.")


def cut(text: str, limit: int) -> str:
    """Return at most this many characters of an output, the first and the last ones, and a note."""
    if len(text) <= limit + NOTE:
        return text
    half = limit // 2
    return (
        f"{text[:half]}\n[… {len(text) - 2 * half} characters omitted "
        f"…]\n{text[len(text) - half :]}"
    )


def _written(file: int, part: bytes) -> None:
    with memoryview(part) as view:
        done = 0
        while done < len(view):
            done += os.write(file, view[done:])
