"""The bubblewrap process that holds a machine, and the first process inside: when it ends, all
others end.
"""

import asyncio
import os
import signal
import threading
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path

PATIENCE = 5.0
"""Seconds that bubblewrap has to exit after the machine."""
TRIES = 50
PAUSE = 0.01
TURNS = 500
"""Tries to lower the priority: the machines of all users of the host that start at once have one
turn in 0.1 s each.
"""
PRIORITY = "10"
"""The priority of a machine's session, as with `nice`: a tenth of the server's share while both
need the CPU.
"""


class Supervisor:
    """Ends processes by open files, since their numbers may have been reused.

    `Process.kill` reads the exit status first, which removes it from asyncio; asyncio then reports
    another one.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lock = threading.Lock()
        """The files are not closed while another thread uses them."""
        self._outside = self._first = -1
        with suppress(ProcessLookupError):  # it has ended already
            self._outside = os.pidfd_open(process.pid)

    @property
    def has_ended(self) -> bool:
        """Whether the machine has ended."""
        return self._process.returncode is not None

    def adopt(self, first: int) -> None:
        """Store the first process of the machine, an open file."""
        self._first = first

    async def lower(self) -> None:
        """Give the session of the machine a lower priority: the system compares sessions, then
        their processes.

        The system accepts one change in 0.1 s from users other than root. It may have no groups for
        sessions.
        """
        for _ in range(TURNS):
            try:
                Path(f"/proc/{self._process.pid}/autogroup").write_text(PRIORITY)  # noqa: ASYNC240 - not on a disk
            except BlockingIOError:
                await asyncio.sleep(PAUSE)
            except OSError:
                return
            else:
                return

    def kill(self) -> None:
        """End the machine, and do not wait for it. Any thread can call this."""
        with self._lock, suppress(OSError):
            if self._first >= 0:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)

    async def end(self) -> None:
        """End the machine, and wait for it."""
        for file in (self._first, self._outside):
            if file < 0:
                continue
            with suppress(OSError):
                signal.pidfd_send_signal(file, signal.SIGKILL)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._process.wait()
                break
        await self._process.wait()
        await self._reap()
        with self._lock:
            files = (self._outside, self._first)
            self._outside = -1
            self._first = -1
            for file in files:
                if file >= 0:
                    os.close(file)

    async def _reap(self) -> None:
        """Collect the first process if bubblewrap ended before it, and it became a child of this
        process.

        That happens if the server is the first process of a container. Otherwise the system
        collects it.
        """
        for _ in range(TRIES if self._first >= 0 else 0):
            try:
                if os.waitid(os.P_PIDFD, self._first, os.WEXITED | os.WNOHANG) is not None:  # noqa: ASYNC222 - it does not wait
                    return
            except ChildProcessError:  # it is not this process's child
                return
            await asyncio.sleep(PAUSE)
