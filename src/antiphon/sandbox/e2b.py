"""Machines of a remote service with E2B's protocol: https://e2b.dev, or a compatible server of your
own.

The service's template defines the memory, processor and packages of a machine. Code runs in the
code interpreter's server of the sandbox; files and commands go through `envd`, its other server.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import suppress
from urllib.parse import quote

import aiohttp
import msgspec

from antiphon.sandbox.contract import (
    DATA,
    CodeResult,
    CommandResult,
    Ending,
    FoundFile,
    MachineLimits,
    SandboxError,
)
from antiphon.sandbox.directory import checked
from antiphon.sandbox.e2b_http import ENVD, INTERPRETER, Access, Requests
from antiphon.sandbox.e2b_streams import Execution, decoded, framed, lines, messages
from antiphon.sandbox.kernel import CapturedOutput
from antiphon.sandbox.machine import cut

LIFE = 1800
"""Seconds after which the service ends a sandbox, unless this server extends it: in case this
server crashes.
"""
PROLONGED = 300.0
"""Seconds after which a call extends it."""
START = "/process.Process/Start"
PART = 1024 * 1024
PREPARE = f"mkdir -p {DATA} && chmod 777 {DATA}"


class E2B:
    """See `Sandbox`. `url` is the service's, as `https://api.e2b.app`; `template` is one with the
    code interpreter.
    """

    def __init__(self, url: str, key: str, template: str = "code-interpreter-v1") -> None:
        self._template = template
        self._requests = Requests(url, key)
        self._machines: set[E2BMachine] = set()

    async def probe(self) -> str:
        """Create a sandbox, and run code in it."""
        try:
            machine = await self.start(MachineLimits(memory=0))
        except SandboxError as error:
            return (
                f"{error} Check `code_e2b_url` and `code_e2b_template`, and that the service runs."
            )
        try:
            result = await machine.run_code("6 * 7", 60)
        finally:
            await machine.close()
        stated = result.printed or result.ending
        return "" if result.value == "42" else f"A sandbox of the service cannot run code: {stated}"

    async def start(self, limits: MachineLimits) -> "E2BMachine":
        """Return a new machine. Its memory, processes and disk are those of the template."""
        access = await self._requests.create(self._template, LIFE)
        machine = E2BMachine(self._requests, access, limits, self._machines.discard)
        self._machines.add(machine)
        try:
            await machine.prepare()
        except BaseException:
            await machine.close()
            raise
        return machine

    async def close(self) -> None:
        """End every machine."""
        await asyncio.gather(*(machine.close() for machine in list(self._machines)))
        await self._requests.close()


class Bounded:
    """A file during its transfer, up to this many bytes; and the error that stopped it."""

    def __init__(self, content: AsyncIterable[bytes], most: int) -> None:
        self._content = content
        self._most = most
        self.problem: Exception | None = None

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the content."""
        size = 0
        try:
            async for part in self._content:
                size += len(part)
                if size > self._most:
                    raise SandboxError(f"The file is larger than {self._most} bytes.")
                yield part
        except Exception as error:
            self.problem = error
            raise


class KernelContext(msgspec.Struct):
    """One kernel in a sandbox."""

    id: str


class DirectoryEntry(msgspec.Struct, rename="camel"):
    """One entry of a directory; 64-bit numbers are strings in this protocol."""

    name: str = ""
    type: str = ""
    size: str | int = 0
    modified_time: str = ""
    symlink_target: str | None = None


class Entries(msgspec.Struct):
    """A directory."""

    entries: list[DirectoryEntry] = []


class E2BMachine:
    """See `Machine`."""

    def __init__(
        self,
        requests: Requests,
        access: Access,
        limits: MachineLimits,
        on_close: Callable[["E2BMachine"], None],
    ) -> None:
        self._requests = requests
        self._access = access
        self._limits = limits
        self._on_close = on_close
        self._context = ""
        self._ending: Ending = "completed"
        self._is_closed = False
        self._prolonged = time.monotonic()

    @property
    def is_alive(self) -> bool:
        """Whether the machine survived the last call."""
        return self._ending == "completed" and not self._is_closed

    async def prepare(self) -> None:
        """Create `DATA`, and a kernel that works there."""
        created = await self._run(PREPARE, 60, 1000, user="root", folder="/")
        if created.exit_code != 0:
            raise SandboxError(
                f"Cannot create {DATA} in a sandbox of the service: "
                f"{created.stderr or created.stdout}"
            )
        content = await self._requests.unary(
            self._access, INTERPRETER, "/contexts", {"cwd": DATA, "language": "python"}
        )
        self._context = decoded(content, KernelContext).id

    async def put(self, name: str, content: AsyncIterable[bytes]) -> None:
        """Write a file into `DATA`.

        Raises `ValueError` unless `name` is one path component, and `SandboxError`.
        """
        checked(name)
        await self._check()
        bounded = Bounded(content, self._limits.file_size)
        with aiohttp.MultipartWriter("form-data") as form:
            part = form.append(bounded.parts(), {"Content-Type": "application/octet-stream"})
            part.set_content_disposition("form-data", name="file", filename=name)
        query = {"path": f"{DATA}/{name}", "username": "user"}
        try:
            async with self._requests.inside(
                self._access, ENVD, "/files", query=query, data=form, seconds=None
            ):
                pass
        except SandboxError as error:
            if bounded.problem is not None:  # aiohttp reports that it could not send the body
                raise bounded.problem from error
            raise

    async def files(self) -> Sequence[FoundFile]:
        """Return the regular files in `DATA`, also after a call that ended the machine."""
        await self._check(is_alive=False)
        body = {"path": DATA, "depth": 1}
        content = await self._requests.unary(
            self._access, ENVD, "/filesystem.Filesystem/ListDir", body
        )
        found = [file for entry in decoded(content, Entries).entries for file in _found(entry)]
        return sorted(found, key=lambda file: file.name)[: self._limits.files]

    async def read(self, name: str, limit: int) -> AsyncGenerator[bytes, None]:
        """Yield the content of a file in `DATA`, also after a call that ended the machine."""
        checked(name)
        await self._check(is_alive=False)
        query = {"path": f"{DATA}/{name}", "username": "user"}
        reading = self._requests.inside(
            self._access, ENVD, "/files", method="GET", query=query, seconds=None
        )
        async with reading as response:
            async for part in response.content.iter_chunked(PART):
                yield part[:limit]
                limit -= len(part)
                if limit <= 0:
                    return

    async def run_code(self, code: str, seconds: float) -> CodeResult:
        """Run Python code. At its time limit the kernel ends; the sandbox with its files remains
        until `close`.
        """
        await self._check()
        execution = Execution(self._limits.output)
        body = msgspec.json.encode({"code": code, "context_id": self._context})
        running = self._requests.inside(
            self._access, INTERPRETER, "/execute", data=body, seconds=None
        )
        try:
            async with asyncio.timeout(seconds), running as response:
                async for line in lines(response.content.iter_chunked(65536)):
                    execution.add(line)
            self._ending = "lost" if execution.is_broken else "completed"
        except TimeoutError:
            await self._end("timeout")
        except SandboxError:
            self._ending = "lost"
        except BaseException:
            await self._end("lost")
            raise
        return execution.result(self._ending)

    async def run_command(self, command: str, seconds: float, output: int) -> CommandResult:
        """Run a shell command. At its time limit only the command ends."""
        await self._check()
        try:
            return await self._run(command, seconds, output)
        except SandboxError:
            self._ending = "lost"
            return CommandResult(exit_code=None, ending="lost")

    async def _run(
        self, command: str, seconds: float, output: int, *, user: str = "user", folder: str = DATA
    ) -> CommandResult:
        process = {"cmd": "/bin/sh", "args": ["-c", command], "cwd": folder}
        body = framed({"process": process, "stdin": False})
        kind = "application/connect+json"
        running = self._requests.inside(
            self._access, ENVD, START, user=user, kind=kind, data=body, seconds=None
        )
        stdout = CapturedOutput(output)
        stderr = CapturedOutput(output)
        pid = 0
        exit_code: int | None = None
        ending: Ending = "completed"
        try:
            async with asyncio.timeout(seconds), running as response:
                async for event in messages(response.content.iter_chunked(65536)):
                    pid = event.start.pid if event.start else pid
                    if event.data:
                        stdout.add(event.data.stdout)
                        stderr.add(event.data.stderr)
                    if event.end:
                        exit_code = event.end.exit_code % 256
        except TimeoutError:
            ending = "timeout"
            await self._kill(pid)
        return CommandResult(
            cut(stdout.text(), output), cut(stderr.text(), output), exit_code, ending
        )

    async def _kill(self, pid: int) -> None:
        body = {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"}
        with suppress(SandboxError):
            await self._requests.unary(self._access, ENVD, "/process.Process/SendSignal", body)

    async def _end(self, ending: Ending) -> None:
        """End the kernel; if the service cannot, it ends with the sandbox."""
        self._ending = ending
        path = f"/contexts/{quote(self._context, safe='')}"
        with suppress(SandboxError):
            async with self._requests.inside(self._access, INTERPRETER, path, method="DELETE"):
                pass

    def memory(self) -> int:
        """Return 0: the service enforces the limit."""
        return 0

    async def close(self) -> None:
        """End the sandbox, with its files."""
        if not self._is_closed:
            self._is_closed = True
            self._on_close(self)
            with suppress(SandboxError):
                await self._requests.delete(self._access)

    async def _check(self, *, is_alive: bool = True) -> None:
        if self._is_closed or (is_alive and not self.is_alive):
            raise SandboxError("The machine is lost: it has ended.")
        if time.monotonic() - self._prolonged > PROLONGED:
            self._prolonged = time.monotonic()
            await self._requests.prolong(self._access, LIFE)


def _found(entry: DirectoryEntry) -> Sequence[FoundFile]:
    is_file = entry.type == "FILE_TYPE_FILE" and entry.symlink_target is None
    try:
        name = checked(entry.name)
        size = int(entry.size)
    except ValueError:
        return ()
    return (
        (FoundFile(name, size, f"{entry.modified_time}-{size}"),) if is_file and size >= 0 else ()
    )
