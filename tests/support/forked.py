"""Processes of the command `antiphon` that are forked from one that has loaded it.

Such a process needs a fifth of the CPU of one that begins with an empty interpreter, and differs
from it in nothing else that a test can see: it has an id, an environment, a folder and files of its
own. Signals, limits and `SIGKILL` reach it like any other.
"""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support.cpu import clock

ROOT = Path(__file__).resolve().parents[2]


class Forker:
    """The process that has loaded the command, one for each process of pytest."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._turn = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.support.forker", str(theirs.fileno())],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)
        clock.watch(self._process.pid)

    def start(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *files: int
    ) -> int:
        """Start the command with these descriptors as standard input, output and error; return its
        process id.
        """
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        return self._send_request(request, *files)

    def ended(self, pid: int) -> int:
        """Return the exit code of a process that has ended."""
        return self._send_request({"ended": pid})

    def _send_request(self, request: Mapping[str, object], *files: int) -> int:
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(request).encode()], files)
            return int(self._socket.recv(64))

    def close(self) -> None:
        """End it; processes that still run go on."""
        self._socket.close()
        self._process.wait()


@cache
def forker() -> Forker:
    """The one of this process, which starts when it is first needed."""
    stored = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT")
        if name in os.environ
    }
    return Forker({**stored, "HOME": "/nonexistent", "PYTHONUNBUFFERED": "1"})


class Forked:
    """A process with the methods of `asyncio.subprocess.Process`."""

    def __init__(
        self, pid: int, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader
    ) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._loop = asyncio.get_running_loop()
        self._removed = asyncio.Event()
        self._watch = os.pidfd_open(pid)
        self._loop.add_reader(self._watch, self._end)

    def _end(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self.returncode = forker().ended(self.pid)
        self._removed.set()

    async def wait(self) -> int:
        """Return the exit code when it has ended."""
        await self._removed.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Return what it writes to standard output and error until it has ended."""
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


async def fork(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Forked:
    """Start the command, without standard input."""
    (out, their_out), (err, their_err) = os.pipe(), os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    theirs = (nothing, their_out, their_err)
    try:
        pid = await asyncio.to_thread(
            lambda: forker().start(arguments, folder, environment, *theirs)
        )
    finally:
        for file in theirs:
            os.close(file)
    return Forked(pid, await _reader(out), await _reader(err))


async def _reader(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(file, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    return reader
