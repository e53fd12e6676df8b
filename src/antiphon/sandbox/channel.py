"""The socket between the server and the kernel program of a machine. All data from there is
untrusted.
"""

import asyncio
import base64
import os
import secrets
import socket
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from antiphon.protocol.json_slices import decode_in_slices
from antiphon.protocol.json_texts import end_of_string
from antiphon.sandbox.contract import SandboxError

LONGEST_REPLY = 20 * 1024 * 1024
"""Bytes of one line."""
PART = 256 * 1024
LARGE = 64 * 1024
"""Bytes of a reply above which it is decoded in a thread."""
MOST_STRINGS = 200
MOST_OUTSIDE = 2000
"""Bytes of a large reply outside of strings."""
MOST_FIGURES = 50
PNG = b"\x89PNG\r\n\x1a\n"


class KernelReply(msgspec.Struct, frozen=True):
    """The fields of every reply. Unknown keys are ignored."""

    nonce: str


class CodeReply(KernelReply, frozen=True):
    """The reply to code; `figures` are PNG images."""

    value: str = ""
    figures: list[bytes] = []

    def images(self) -> Sequence[bytes]:
        """Return the figures that are images."""
        return [figure for figure in self.figures[:MOST_FIGURES] if figure.startswith(PNG)]


class CommandReply(KernelReply, frozen=True):
    """The reply to a shell command."""

    stdout: str = ""
    stderr: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    timed_out: bool = False


R = TypeVar("R", bound=KernelReply)


class KernelChannel:
    """Calls the kernel program, one call at a time."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection

    async def files(self, count: int) -> list[int]:
        """Wait for the kernel program's start.

        Returns the open files that it sends. Raises `SandboxError`.

        No process inherits them: through one, another machine could read and write this one's
        files.
        """
        await _readable(self._connection)
        try:
            _, received, _, _ = socket.recv_fds(self._connection, 1, count)
        except OSError as error:
            raise SandboxError(f"The machine is lost: {error}.") from error
        for (
            each
        ) in received:  # `recv_fds` ignores the flag; uvloop does not close inheritable files
            os.set_inheritable(each, False)
        if len(received) != count:
            for each in received:
                os.close(each)
            raise SandboxError("The machine ended before its kernel was ready.")
        return received

    async def call(self, kind: type[R], **call: Any) -> R:
        """Send a call, and return its reply.

        Raises `SandboxError` if the kernel ended, or sent anything else.
        """
        nonce = secrets.token_hex(16)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(
                self._connection, msgspec.json.encode({"nonce": nonce, **call}) + b"\n"
            )
            reply = await _decoded(await self._line(), kind)
        except OSError as error:
            raise SandboxError(f"The machine is lost: {error}.") from error
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            raise SandboxError("The machine is lost: its reply is invalid.") from error
        if reply.nonce != nonce:
            raise SandboxError("The machine is lost: it sent a reply to another call.")
        return reply

    async def _line(self) -> bytearray:
        """Return the bytes up to a line's end, which must be the end of the received data."""
        loop = asyncio.get_running_loop()
        line = bytearray()
        while not line.endswith(b"\n"):
            part = await loop.sock_recv(self._connection, PART)
            if not part:
                raise SandboxError("The machine is lost: its processes ended.")
            line += part
            if len(line) > LONGEST_REPLY or 0 <= part.find(b"\n") < len(part) - 1:
                raise SandboxError("The machine is lost: its reply is too large.")
        return line

    def close(self) -> None:
        """Close the socket, which ends the kernel program, too."""
        self._connection.close()


async def _decoded(line: bytearray, kind: type[R]) -> R:
    """Return a reply. A large one is decoded in slices, in a thread: a forged one could otherwise
    block the loop.
    """
    if len(line) <= LARGE:
        return msgspec.json.decode(line, type=kind)
    return await asyncio.to_thread(_sliced, bytes(line), kind)


def _sliced(line: bytes, kind: type[R]) -> R:
    _check_size(line)
    values = decode_in_slices(line)
    figures = values.get("figures") if isinstance(values, dict) else None
    if isinstance(figures, list):
        values["figures"] = [_image(each) for each in figures[:MOST_FIGURES]]
    return msgspec.convert(values, kind)


def _check_size(line: bytes) -> None:
    """Raise `ValueError` for more values than a reply has: creating them would take seconds, and
    much memory.
    """
    outside = at = strings = 0
    while (
        (begin := line.find(b'"', at)) >= 0 and strings <= MOST_STRINGS and outside <= MOST_OUTSIDE
    ):
        outside = outside + begin - at
        at = end_of_string(line, begin)
        strings = strings + 1
    if strings > MOST_STRINGS or outside + (len(line) - at if begin < 0 else 0) > MOST_OUTSIDE:
        raise ValueError("the reply has too many values")


def _image(text: str) -> bytes:
    """Decode base64 in pieces: one call for all of it would hold Python's lock for too long."""
    return b"".join(
        base64.b64decode(text[at : at + PART], validate=True) for at in range(0, len(text), PART)
    )


async def _readable(connection: socket.socket) -> None:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
