"""The command `antiphon` as a process, in a folder of its own and with nothing in its environment.

An interpreter takes half a second of CPU to load it, so a process is forked from one that has
(`forked.py`), unless a test is about how the command starts. What this process shows too is in
`tests/support/cli.py`.
"""

import asyncio
import os
import pty
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.forked import Forked, fork

STALL = re.compile(
    r"^\S+ WARNING antiphon: The event loop was blocked .*\n(?:[ \t].*\n|\n)*", re.MULTILINE
)
"""What a server logs when the machine stands still for a second, as one does that runs many tests
at once.
"""

PATIENCE = 30.0
"""Seconds that a command has for what it is asked; a busy machine may need some of them."""

ORPHANED = 5.0
"""Seconds for which the output of a process is read that has ended."""

GRACE = 30.0
"""Seconds that a server gives running replies to end after SIGTERM: the default of its setting
`grace`.
"""

READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_")
"""What the names of variables begin with that only a new interpreter reads."""

Process = asyncio.subprocess.Process | Forked


@dataclass
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str


@dataclass
class Serving:
    """A server that runs: its process, the lines of its standard output so far, and its base
    URL.
    """

    process: Process
    lines: list[str] = field(default_factory=list)
    url: str = ""

    async def stop(self, number: int) -> Done:
        """Send a signal and wait for the end.

        A server that does not end is killed, and what it said is told.
        """
        self.send_signal(number)
        stating = asyncio.create_task(self.process.communicate())
        await asyncio.wait({stating}, timeout=GRACE + PATIENCE)
        if not stating.done():
            state = (
                "runs"
                if self.process.returncode is None
                else "has ended, and another process has its output"
            )
            self.process.kill()
            await asyncio.wait({stating}, timeout=PATIENCE)
            text = (
                b"\n".join(stating.result()).decode()
                if stating.done()
                else "nothing that can be read"
            )
            raise AssertionError(
                f"{GRACE + PATIENCE:g} s after signal {number} the server {state}. It said: {text}"
            )
        out, err = stating.result()
        return Done(self.process.returncode or 0, out.decode(), STALL.sub("", err.decode()))

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Nothing that could tell the command of a backend, a setting or a key."""
    stored = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT")
        if name in os.environ
    }
    return {**stored, "HOME": str(home), "COLUMNS": "200", "PYTHONUNBUFFERED": "1", **variables}


async def start(
    home: Path,
    *arguments: str,
    program: Path | None = None,
    prelude: str = "",
    is_fresh: bool = False,
    python: str = sys.executable,
    **variables: str,
) -> Process:
    """Start the command, or a program that runs it; `prelude` is Python that its process runs
    first.

    `is_fresh`: begin with an empty interpreter, as the other two always do. `python` is an
    interpreter of another environment.
    """
    reported = environment(home, **variables)
    is_other = is_fresh or program or prelude or python != sys.executable
    if not (is_other or any(name.startswith(READ_AT_START) for name in variables)):
        return await fork(arguments, home, reported)
    run = ("-c", f"import runpy\n{prelude}\nrunpy.run_module('antiphon', run_name='__main__')")
    plain = (str(program),) if program else run if prelude else ("-m", "antiphon")
    command = (python, "-W", "error", *plain, *arguments)
    return await asyncio.create_subprocess_exec(
        *command, cwd=home, env=reported, stdin=-3, stdout=-1, stderr=-1
    )


async def removed(process: Process) -> None:
    """Kill a process if it still runs, and read its output to the end: else its pipes stay open
    until they are collected as garbage, in the middle of another test.
    """
    if process.returncode is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
    with suppress(TimeoutError):  # a process that it started has its output, and goes on
        await asyncio.wait_for(process.communicate(), ORPHANED)


async def antiphon(
    home: Path,
    *arguments: str,
    patience: float = PATIENCE,
    is_fresh: bool = False,
    **variables: str,
) -> Done:
    """Run the command to its end, which comes within `patience` seconds."""
    process = await start(home, *arguments, is_fresh=is_fresh, **variables)
    out, err = await asyncio.wait_for(process.communicate(), patience)
    return Done(process.returncode or 0, out.decode(), err.decode())


async def on_a_terminal(home: Path, *arguments: str, **variables: str) -> str:
    """Run the command to its end on a terminal without colours; return what that showed."""
    screen, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "antiphon", *arguments),
        cwd=home,
        env=environment(home, TERM="xterm", NO_COLOR="1", **variables),
        stdin=-3,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    displayed = b""
    with suppress(OSError):  # as Linux says that nobody writes any more
        async with asyncio.timeout(PATIENCE):
            while more := await asyncio.to_thread(os.read, screen, 65_536):
                displayed += more
    os.close(screen)
    await process.wait()
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", displayed.decode())


@asynccontextmanager
async def serving(
    home: Path,
    *arguments: str,
    program: Path | None = None,
    is_fresh: bool = False,
    meanwhile: Callable[[int], Awaitable[None]] | None = None,
    python: str = sys.executable,
    **variables: str,
) -> AsyncIterator[Serving]:
    """Run `antiphon serve` until the end of the block; it is ready.

    `program`, `is_fresh` and `python` are those of `start`; `meanwhile` is done with the process's
    id before that is ready.
    """
    process = await start(
        home, "serve", *arguments, program=program, is_fresh=is_fresh, python=python, **variables
    )
    assert process.stdout is not None
    server = Serving(process)
    try:
        async with asyncio.timeout(PATIENCE):
            if meanwhile is not None:
                await meanwhile(process.pid)
            while not any(line.startswith("curl ") for line in server.lines):
                line = (await process.stdout.readline()).decode()
                assert line, f"the server ended: {(await process.communicate())[1].decode()}"
                server.lines.append(line.rstrip("\n"))
        found = re.search(r"base URL (\S+?);", "\n".join(server.lines))
        assert found is not None
        server.url = found[1]
        yield server
    finally:
        await removed(process)


def pids_below(pid: int) -> list[int]:
    """The processes that this one started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]
