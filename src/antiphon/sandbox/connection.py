"""The connection of a machine to the server: a socket for calls, a pipe for its output, two for its
settings.
"""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from antiphon.sandbox import seccomp
from antiphon.sandbox.supervisor import Supervisor
from antiphon.sandbox.usage import close_all

LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class MachineConnection:
    """The server's ends, and those of the machine until it has started."""

    server: socket.socket
    machine: socket.socket
    output: int
    """The server's end of the output pipe; reading does not block."""
    printed: int
    filter: int
    """A pipe with the seccomp filter."""
    options: int
    """A pipe with options of bubblewrap, which code in the machine could read on its command
    line.
    """

    @classmethod
    def open(cls, options: Sequence[str], *, is_counted: bool = False) -> "MachineConnection":
        """Open everything. `options` are for bubblewrap; `is_counted` as in `seccomp.program`.

        Raises `OSError`; then nothing stays open.
        """
        with ExitStack() as stack:
            server, machine = (stack.enter_context(each) for each in socket.socketpair())
            output, printed = os.pipe()
            stack.callback(close_all, (output, printed))
            os.set_blocking(output, False)
            filled = []
            for content in (seccomp.program(is_counted=is_counted), _joined(options)):
                filled.append(_filled(content))
                stack.callback(os.close, filled[-1])
            stack.pop_all()
        return cls(server, machine, output, printed, *filled)

    async def start(self, enter: Sequence[str], program: str, command: Sequence[str]) -> Supervisor:
        """Start bubblewrap, `program`, with this command inside; `enter` is the beginning of the
        line.

        It is in a session of its own, without a terminal, and so in one scheduling group
        (`autogroup`). Then the server's copies of the machine's ends are closed. Raises `OSError`.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *(
                    *enter,
                    program,
                    "--seccomp",
                    str(self.filter),
                    "--args",
                    str(self.options),
                    "--",
                    *command,
                ),
                stdin=self.machine.fileno(),
                stdout=self.printed,
                stderr=self.printed,
                pass_fds=(self.filter, self.options),
                env={},
                start_new_session=True,
                cwd="/",
            )
            return Supervisor(process)
        finally:
            self.machine.close()
            close_all((self.printed, self.filter, self.options))

    def message(self) -> str:
        """Return the output of bubblewrap or the kernel program, of a machine that did not
        start.
        """
        with suppress(BlockingIOError):
            return os.read(self.output, LONGEST_MESSAGE).decode(errors="replace").strip()
        return ""

    def close(self) -> None:
        """Close the server's ends, which ends the kernel program, too."""
        self.server.close()
        os.close(self.output)


def _filled(content: bytes) -> int:
    """Return the reading end of a pipe with this content, which fits into the pipe's buffer."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        file.write(content)
    return reading


def _joined(options: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(option) + b"\0" for option in options)
