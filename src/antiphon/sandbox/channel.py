"""The socket between the server and the kernel program of a machine. Whatever comes from there may be forged."""

import asyncio
import os
import secrets
import socket
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from antiphon.sandbox.contract import SandboxError

LONGEST_REPLY = 20 * 1024 * 1024
"""Bytes of one line."""
PART = 256 * 1024
MOST_FIGURES = 50
PNG = b"\x89PNG\r\n\x1a\n"


class Reply(msgspec.Struct, frozen=True):
    """What every reply has. Unknown keys are ignored."""

    nonce: str


class CodeReply(Reply, frozen=True):
    """The reply to code; `figures` are PNG images."""

    value: str = ""
    figures: list[bytes] = []

    def images(self) -> Sequence[bytes]:
        """Return the figures that are images."""
        return [figure for figure in self.figures[:MOST_FIGURES] if figure.startswith(PNG)]


class CommandReply(Reply, frozen=True):
    """The reply to a shell command."""

    stdout: str = ""
    stderr: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    timed_out: bool = False


R = TypeVar("R", bound=Reply)


class Channel:
    """Calls the kernel program, one call at a time."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection

    async def files(self, count: int) -> list[int]:
        """Wait for the kernel program's start. Returns the open files that it sends. Raises `SandboxError`."""
        await _readable(self._connection)
        try:
            _, received, _, _ = socket.recv_fds(self._connection, 1, count)
        except OSError as error:
            raise SandboxError(f"The machine is lost: {error}.") from error
        if len(received) != count:
            for each in received:
                os.close(each)
            raise SandboxError("The machine ended before its kernel was ready.")
        return received

    async def call(self, kind: type[R], **call: Any) -> R:
        """Send a call, and return its reply. Raises `SandboxError` if the kernel ended, or sent anything else."""
        nonce, loop = secrets.token_hex(16), asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._connection, msgspec.json.encode({"nonce": nonce, **call}) + b"\n")
            reply = msgspec.json.decode(await self._line(), type=kind)
        except OSError as error:
            raise SandboxError(f"The machine is lost: {error}.") from error
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise SandboxError("The machine is lost: its reply is invalid.") from error
        if reply.nonce != nonce:
            raise SandboxError("The machine is lost: it sent a reply to another call.")
        return reply

    async def _line(self) -> bytearray:
        """Return the bytes up to a line's end, which has to be the end of all that was sent."""
        loop, line = asyncio.get_running_loop(), bytearray()
        while not line.endswith(b"\n"):
            part = await loop.sock_recv(self._connection, PART)
            if not part:
                raise SandboxError("The machine is lost: its processes ended.")
            line += part
            if len(line) > LONGEST_REPLY or 0 <= part.find(b"\n") < len(part) - 1:
                raise SandboxError("The machine is lost: its reply is too long.")
        return line

    def close(self) -> None:
        """Close the socket, which ends the kernel program, too."""
        self._connection.close()


async def _readable(connection: socket.socket) -> None:
    ready, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
