"""What connects one machine with the server: a socket for calls, a pipe with what is printed, two with its settings."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from antiphon.sandbox import seccomp
from antiphon.sandbox.supervisor import Supervisor

LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class Connection:
    """The ends of the server, and those of the machine until it has started."""

    server: socket.socket
    machine: socket.socket
    output: int
    """The end of what is printed that the server reads; reading does not block."""
    printed: int
    filter: int
    """A pipe with the seccomp filter."""
    options: int
    """A pipe with options of bubblewrap, which code in the machine would see if they were on its command line."""

    @classmethod
    def open(cls, options: Sequence[str]) -> "Connection":
        """Open everything. `options` are for bubblewrap."""
        server, machine = socket.socketpair()
        output, printed = os.pipe()
        os.set_blocking(output, False)
        return cls(server, machine, output, printed, _filled(seccomp.program()), _filled(_joined(options)))

    async def start(self, enter: Sequence[str], program: str, command: Sequence[str]) -> Supervisor:
        """Start bubblewrap, `program`, with this command inside; `enter` is what the line begins with.

        The server's copies of the machine's ends are closed then. Raises `OSError`.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *(*enter, program, "--seccomp", str(self.filter), "--args", str(self.options), "--", *command),
                stdin=self.machine.fileno(),
                stdout=self.printed,
                stderr=self.printed,
                pass_fds=(self.filter, self.options),
                env={},
                cwd="/",
            )
            return Supervisor(process)
        finally:
            self.machine.close()
            for each in (self.printed, self.filter, self.options):
                os.close(each)

    def message(self) -> str:
        """Return what bubblewrap or the kernel program said, of a machine that did not start."""
        with suppress(BlockingIOError):
            return os.read(self.output, LONGEST_MESSAGE).decode(errors="replace").strip()
        return ""

    def close(self) -> None:
        """Close the server's ends, which ends the kernel program, too."""
        self.server.close()
        os.close(self.output)


def _filled(content: bytes) -> int:
    """Return the reading end of a pipe with this content, which is shorter than a pipe is."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        file.write(content)
    return reading


def _joined(options: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(option) + b"\0" for option in options)
