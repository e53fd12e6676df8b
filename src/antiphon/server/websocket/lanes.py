"""Decides which `response.create` of a connection starts now, and which waits (specification
section 8). No I/O.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from antiphon.errors import ClientError
from antiphon.server.websocket.session_memory import Lane

NAMES = 32
"""Distinct lanes of a connection, in addition to the unnamed one."""

IN_FLIGHT = 16
"""Responses of a connection that run at once."""

WAITING = 256
"""Requests of a connection that wait at most."""


@dataclass(slots=True)
class LaneRequest:
    """A received `response.create`: the bytes of the message, and its data without the lane."""

    lane: Lane
    body: bytes
    data: dict[str, Any] | None
    """None while it waits: data takes several times the memory of its bytes."""
    tools: bytes = b""
    """The JSON of its tools, if they are new."""


class Lanes:
    """Requests in one lane run in order; lanes run concurrently."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._busy: set[Lane] = set()
        self._waiting: deque[LaneRequest] = deque()

    def enter(self, request: LaneRequest) -> None:
        """Queue a request, which may start now. Raises `ClientError` (400, 429)."""
        if request.lane is not None:
            self._name(request.lane)
        if not self._is_free(request.lane):
            self._check_room()
            request.data = None
        self._waiting.append(request)

    def next(self) -> LaneRequest | None:
        """Return the oldest request that can start now; its lane is then occupied until `left`."""
        for index, requested in enumerate(self._waiting):
            if self._is_free(requested.lane):
                del self._waiting[index]
                self._busy.add(requested.lane)
                return requested
        return None

    def leave(self, lane: Lane) -> None:
        """The request that occupied this lane is answered."""
        self._busy.discard(lane)

    def _is_free(self, lane: Lane) -> bool:
        return lane not in self._busy and len(self._busy) < IN_FLIGHT

    def _name(self, lane: str) -> None:
        if lane not in self._names and len(self._names) >= NAMES:
            raise ClientError(
                "This WebSocket connection has reached its maximum number of distinct stream IDs "
                f"({NAMES}). "
                "Reuse an existing stream_id or open a new WebSocket connection.",
                code="websocket_stream_limit_reached",
                param="stream_id",
            )
        self._names.add(lane)

    def _check_room(self) -> None:
        if len(self._waiting) >= WAITING:
            raise ClientError(
                "Too many requests wait on this WebSocket connection. Send more when responses "
                "have ended.",
                status=429,
                type="requests",
                code="too_many_requests",
            )
