"""Runs a program that reads untrusted data: in a separate process, a few at once, in each tenant's
turn.

The program sets its own resource limits (`documents/extraction/__main__.py`). The parent limits
time and output, and passes only the environment variables that Python needs to start, so no key is
among them.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from antiphon.sharing.cores import whole_cores
from antiphon.sharing.offload import wait_for_end
from antiphon.sharing.scheduler import FairScheduler, NoRoomError

Input = bytes | AsyncGenerator[bytes, None]
"""The input of a child: bytes, or parts that are read as the child consumes them."""

SLICE = 1024 * 1024
"""Bytes that are written to a child at once: the data waiting in the pipe is a copy."""

WAITING = 32
"""Operations that can wait for a child process."""

_INHERITED_VARIABLES = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "LANG",
    "LC_ALL",
)
_ROOT = str(Path(__file__).parents[2])
"""The folder of the package, in case the child would not find it: it is not always in
`site-packages`.
"""

T = TypeVar("T")
Failure = Literal["busy", "slow", "broken"]


class ChildError(Exception):
    """A child process returned nothing useful.

    `reason`: `busy` if too many operations wait, `slow` if it timed out, `broken` for everything
    else: a crash, a limit of memory or CPU time, too much output.
    """

    def __init__(self, reason: Failure) -> None:
        super().__init__(reason)
        self.reason: Failure = reason


def child_turns(cpus: int | None = None) -> FairScheduler:
    """Return the scheduler of a process's children of one kind.

    One tenant can have as many children as there are CPUs, since reading needs CPU time. One more
    starts at once for another tenant, regardless of the first one: with so few slots a fraction
    would leave no room.
    """
    cpus = max(2, cpus or whole_cores())
    return FairScheduler(cpus + 1, WAITING, per_tenant=cpus)


class Child:
    """One program, run once for each operation.

    `program` are the arguments of `python`. `seconds` limits each run that states no limit, without
    the wait for the tenant's turn; `most_output` is a number of bytes.
    """

    def __init__(
        self, program: Sequence[str], turns: FairScheduler, *, seconds: float, most_output: int
    ) -> None:
        self._program = program
        self._turns = turns
        self._seconds = seconds
        self._most_output = most_output

    async def run(
        self, *parts: Input, tenant: str = "", cost: float = 1.0, seconds: float = 0.0
    ) -> bytearray:
        """Return the output of the program for these parts on standard input, within `seconds` if
        they are stated.

        Raises `ChildError`, and errors of the parts. Even if the caller is cancelled repeatedly,
        the process has ended and its pipes are closed before this returns.
        """
        try:
            async with (
                self._turns.slot(tenant, cost=cost),
                asyncio.timeout(seconds or self._seconds),
            ):
                return await _cancelled_once(self._answer(parts))
        except NoRoomError as error:
            raise ChildError("busy") from error
        except TimeoutError as error:
            raise ChildError("slow") from error
        except OSError as error:
            raise ChildError("broken") from error

    async def _answer(self, parts: Sequence[Input]) -> bytearray:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            *self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
        )
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 - both are pipes
        writing = asyncio.create_task(_write(process.stdin, parts))
        try:
            answer = await self._read(process.stdout)
            await writing
            if await process.wait():
                raise ChildError("broken")
            return answer
        finally:
            writing.cancel()
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            await _end(process, process.stdout)
            await wait_for_end(writing)
            with suppress(
                ConnectionError
            ):  # the child did not read everything; otherwise asyncio logs it
                await process.stdin.wait_closed()

    async def _read(self, stream: asyncio.StreamReader) -> bytearray:
        answer = bytearray()
        while part := await stream.read(SLICE):
            answer += part
            if len(answer) > self._most_output:
                raise ChildError("broken")
        return answer


async def _cancelled_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work.

    If the caller is cancelled, so is the work, once; this waits for its end.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await wait_for_end(task)
        raise
    return task.result()


async def _end(process: asyncio.subprocess.Process, output: asyncio.StreamReader) -> None:
    """Wait for the end of a child. Its pipe is closed once it is read to its end."""
    while await output.read(SLICE):
        pass
    await process.wait()


async def _write(stream: asyncio.StreamWriter, parts: Sequence[Input]) -> None:
    """Write the input of the child; a child that ends early does not read all of it.

    If a part cannot be read, the child's input ends, and so the child ends.
    """
    try:
        with suppress(ConnectionError):
            for part in parts:
                if isinstance(part, bytes):
                    await _write_part(stream, part)
                    continue
                async with aclosing(part):
                    async for piece in part:
                        await _write_part(stream, piece)
    finally:
        stream.close()
    with suppress(ConnectionError):
        await stream.wait_closed()


async def _write_part(stream: asyncio.StreamWriter, part: bytes) -> None:
    with memoryview(part) as view:
        for start in range(0, len(view), SLICE):
            stream.write(view[start : start + SLICE])
            await stream.drain()


def _environment() -> dict[str, str]:
    stored = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    paths = [_ROOT, *filter(None, [stored.get("PYTHONPATH")])]
    return {**stored, "PYTHONPATH": os.pathsep.join(paths)}
