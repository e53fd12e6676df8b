"""What a case sends and receives: requests, WebSocket frames, and the complete responses to
them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from antiphon_verify.reading import MISSING


@dataclass
class Frame:
    """One server-sent event: the lines between two empty lines."""

    event: str | None = None
    data: str | None = None
    """The `data` lines joined by line feeds; None without any, as in a comment."""
    id: str | None = None
    comments: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Names of fields that the standard does not define."""
    is_ended: bool = False
    """Whether an empty line ends it; a browser drops a last frame without one."""

    def add(self, line: str) -> None:
        """Add a line."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                self.comments.append(value)
            case "data":
                self.data = value if self.data is None else f"{self.data}\n{value}"
            case "event":
                self.event = value
            case "id":
                self.id = value
            case "retry":
                pass
            case _:
                self.others.append(name)


def read_frames(body: bytes) -> list[Frame]:
    """Return the frames of a body.

    Any content is read, as UTF-8 with replacement characters; nothing is raised.
    """
    text = (
        body.decode("utf-8", "replace")
        .removeprefix("\ufeff")
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )
    *lines, rest = text.split("\n")
    frames: list[Frame] = []
    frame: Frame | None = None
    for line in lines:
        if line:
            frame = frame or Frame()
            frame.add(line)
        elif frame is not None:
            frame.is_ended = True
            frames.append(frame)
            frame = None
    if rest:
        frame = frame or Frame()
        frame.add(rest)
    return [*frames, frame] if frame is not None else frames


MCP_RECEIVED = "MCP-RECEIVED"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One HTTP request, or with method `WS` one frame to a WebSocket.

    With method `MCP-RECEIVED` nothing is sent to the tested server: the answer is what the run's
    own MCP server received from it.

    `path` is relative to the base URL and can have a query. `body` is a JSON value; `content` are
    bytes instead of it.
    """

    method: str
    path: str
    body: Any = MISSING
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    leave_after: int | None = None
    """Bytes of the response after which the client closes the connection."""
    socket: int = 0
    """Which of the case's WebSockets; one that is not open yet is opened at `path`."""
    answers: int = 1
    """How many terminal events, or errors, end the response to a WebSocket frame."""
    until: str = ""
    """A prefix of event types that also end it."""

    @property
    def data(self) -> bytes:
        """The body's bytes."""
        if self.content is not None:
            return self.content
        return b"" if self.body is MISSING else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Exchange:
    """A request and its response. Nothing here raises, whatever the server sent."""

    request: Request
    status: int = 0
    """The HTTP status; 0 without a response. For a WebSocket the status of its handshake: 101."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name."""
    body: bytes = b""
    """The response's bytes as received; for a WebSocket the messages, one per line."""
    fault: str = ""
    """Why the response is incomplete, in words: a broken connection, a timeout."""
    is_reused: bool = False
    """Whether the connection or WebSocket had already served another request."""
    is_reached: bool = True
    """Whether a connection could be opened."""

    @cached_property
    def json(self) -> Any:
        """The body as JSON, else `MISSING`."""
        return parsed(self.body)

    @cached_property
    def frames(self) -> list[Frame]:
        """The body as server-sent events."""
        return read_frames(self.body)

    @cached_property
    def events(self) -> list[Any]:
        """The data of the frames as JSON, without `[DONE]`; for a WebSocket the messages.

        Can contain `MISSING`.
        """
        if self.request.method == "WS":
            return [parsed(line) for line in self.body.splitlines()]
        data = (frame.data for frame in self.frames)
        return [parsed(text.encode()) for text in data if text is not None and text != "[DONE]"]

    @property
    def is_ok(self) -> bool:
        """Whether the response is complete and its status is a success."""
        return not self.fault and (200 <= self.status < 300 or self.status == 101)

    @property
    def came(self) -> str:
        """The response in a few words."""
        if self.fault and not self.status:
            return self.fault
        if self._streams:
            return ", ".join(
                part for part in (f"status {self.status}", self._streamed, self.fault) if part
            )
        text = " ".join(self.body[:2000].decode("utf-8", "replace").split())
        short = text if len(text) <= 160 else f"{text[:157]}..."
        return ", ".join(part for part in (f"status {self.status}", short, self.fault) if part)

    @property
    def _streams(self) -> bool:
        return any(isinstance(event, dict) for event in self.events) and not isinstance(
            self.json, dict
        )

    @property
    def _streamed(self) -> str:
        """A summary of a stream: the number of events, and the last one."""
        last = self.events[-1]
        text = " ".join(json.dumps(last, ensure_ascii=False, default=repr).split())
        return (
            f"{len(self.events)} events, the last "
            f"{text if len(text) <= 160 else f'{text[:157]}...'}"
        )


def parsed(body: bytes) -> Any:
    """Return bytes as JSON, else `MISSING`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return MISSING


@dataclass(frozen=True)
class Together:
    """Requests that are sent concurrently."""

    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Pause:
    """A wait, in seconds."""

    seconds: float


Step = Request | Together | Pause
"""What a case can have done. The results are an `Exchange`, a list of them, and None."""
