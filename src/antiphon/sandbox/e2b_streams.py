"""The two streams of E2B's protocol: JSON lines of executed code, framed messages of a process.
Both are untrusted.
"""

import re
import struct
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec

from antiphon.sandbox.channel import LONGEST_REPLY, MOST_FIGURES, PNG
from antiphon.sandbox.contract import CodeResult, Ending, SandboxError
from antiphon.sandbox.kernel import CapturedOutput

FIGURES = 20 * 1024 * 1024
"""Bytes of all images of one call."""
HEAD = struct.Struct(">BI")
LAST = 0b10
"""The flag of a stream's last message."""
T = TypeVar("T")
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Line(msgspec.Struct):
    """One line of an execution. Unknown keys are ignored."""

    type: str = ""
    text: str | None = None
    png: bytes | None = None
    is_main_result: bool = False
    traceback: str = ""


class Execution:
    """The output of code, collected line by line."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._printed = CapturedOutput(output)
        self._figures: list[bytes] = []
        self._value = ""
        self.is_broken = False
        """The kernel ended during the call."""

    def add(self, line: bytes) -> None:
        """Add a line. Raises `SandboxError`."""
        read = decoded(line, Line)
        if read.type in {"stdout", "stderr"}:
            self._printed.add((read.text or "").encode(errors="replace"))
        elif read.type == "error":
            self._printed.add(COLOURS.sub("", f"{read.traceback}\n").encode(errors="replace"))
        elif read.type == "result":
            self._show(read)
        elif read.type == "unexpected_end_of_execution":
            self.is_broken = True

    def _show(self, line: Line) -> None:
        has_room = sum(map(len, self._figures)) + len(line.png or b"") <= FIGURES
        if line.png and line.png.startswith(PNG) and has_room and len(self._figures) < MOST_FIGURES:
            self._figures.append(line.png)
        if line.is_main_result:
            self._value = (line.text or "")[: self._output]

    def result(self, ending: Ending) -> CodeResult:
        """Return the output so far."""
        return CodeResult(self._printed.text(), tuple(self._figures), self._value, ending)


class Data(msgspec.Struct):
    """A part of a process's output."""

    stdout: bytes = b""
    stderr: bytes = b""


class Start(msgspec.Struct):
    """A process began."""

    pid: int = 0


class ProcessEnd(msgspec.Struct, rename="camel"):
    """A process ended; zero is not sent."""

    exit_code: int = 0


class ProcessEvent(msgspec.Struct):
    """An event; one of the fields is set."""

    start: Start | None = None
    data: Data | None = None
    end: ProcessEnd | None = None


class ProcessMessage(msgspec.Struct):
    """One message of a process."""

    event: ProcessEvent = msgspec.field(default_factory=ProcessEvent)


class StreamFailure(msgspec.Struct):
    """The last message of a stream."""

    error: dict[str, Any] | None = None


async def lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a body. Raises `SandboxError` for a line that is too long."""
    buffer = bytearray()
    async for part in parts:
        buffer += part
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            if line.strip():
                yield line
        _bounded(len(buffer))
    if buffer.strip():
        yield bytes(buffer)


async def messages(parts: AsyncIterator[bytes]) -> AsyncIterator[ProcessEvent]:
    """Yield the events of a process's stream. Raises `SandboxError`, also if it ends early."""
    buffer = bytearray()
    async for part in parts:
        buffer += part
        while len(buffer) >= HEAD.size:
            flags, size = HEAD.unpack_from(buffer)
            _bounded(size)
            if len(buffer) < HEAD.size + size:
                break
            body = bytes(buffer[HEAD.size : HEAD.size + size])
            del buffer[: HEAD.size + size]
            if flags & LAST:
                if error := decoded(body, StreamFailure).error:
                    raise SandboxError(
                        f"The sandbox service reports: {str(error.get('message', error))[:500]}"
                    )
                return
            yield decoded(body, ProcessMessage).event
    raise SandboxError("The sandbox service disconnected.")


def framed(message: Any) -> bytes:
    """Return a message in the format of the stream."""
    body = msgspec.json.encode(message)
    return HEAD.pack(0, len(body)) + body


def decoded(content: bytes, kind: type[T]) -> T:
    """Decode a response or a message as this type. Raises `SandboxError`."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SandboxError("The sandbox service sent an invalid message.") from error


def _bounded(size: int) -> None:
    if size > LONGEST_REPLY:
        raise SandboxError("The sandbox service sent a message that is too long.")
