"""The process that holds a machine: bubblewrap outside. Its end ends every process inside."""

import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress


class Supervisor:
    """Ends bubblewrap by an open file, since its number may be another process's by now.

    `Process.kill` asks for the exit status first, and so takes it from asyncio, which reports another one then.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._file = -1
        with suppress(ProcessLookupError):  # it has ended already
            self._file = os.pidfd_open(process.pid)

    @property
    def has_ended(self) -> bool:
        """Whether the machine has ended."""
        return self._process.returncode is not None

    async def end(self) -> None:
        """End the machine, and wait for it."""
        if self._file >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._file, signal.SIGKILL)
        await self._process.wait()
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
