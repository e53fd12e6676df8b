"""Bytes that this process holds for clients: bodies, WebSocket messages, and responses that WebSockets remember."""

import gc

from antiphon.errors import AntiphonError, ClientError
from antiphon.sharing.scheduler import SHARE

LARGE = 64 * 1024
"""Bytes from which on a body counts towards `SWEEP`."""

SWEEP = 128 * 1024 * 1024
"""Bytes of released large bodies after which the garbage collector runs: these are few objects for its own count."""


class Room:
    """The bytes of all requests and connections together, shared between tenants.

    A tenant holds at most `SHARE` times what is still free, so that some is always left for the next tenant, but may
    always hold `least` bytes. Without API keys there is one tenant, "", which may hold all of it.
    """

    def __init__(self, size: int, least: int = 0) -> None:
        self.left = size
        self._least = least
        self._held: dict[str, int] = {}
        self._litter = 0

    def take(self, size: int, tenant: str = "") -> None:
        """Hold `size` more bytes. Raises `AntiphonError` (503) where there is no room for them."""
        if size > self.left:
            raise _full()
        if tenant:
            held = self._held.get(tenant, 0) + size
            if held > max(self._least, SHARE * (self.left - size)):
                raise _full()
            self._held[tenant] = held
        self.left -= size

    def give_back(self, size: int, tenant: str = "") -> None:
        """Release `size` bytes."""
        self.left += size
        if tenant and size:
            self._held[tenant] -= size
            if not self._held[tenant]:
                del self._held[tenant]
        if size >= LARGE:
            self._litter += size
        if self._litter >= SWEEP:
            self._litter = 0
            gc.collect()


class Account:
    """The bytes of one connection, at most `most`; all of them are part of a room."""

    def __init__(self, room: Room, most: int, tenant: str) -> None:
        self._room, self._most, self._tenant = room, most, tenant
        self.held = 0

    def take(self, size: int) -> None:
        """Hold `size` more bytes. Raises `ClientError` (429) beyond the connection's limit, else as `Room`."""
        if self.held + size > self._most:
            raise ClientError(
                "Too many bytes are waiting on this WebSocket connection. Send more after a response has ended.",
                status=429,
                type="requests",
                code="too_many_requests",
            )
        self._room.take(size, self._tenant)
        self.held += size

    def give_back(self, size: int) -> None:
        """Release `size` bytes."""
        self.held -= size
        self._room.give_back(size, self._tenant)

    def close(self) -> None:
        """Release everything: the connection has ended."""
        self.give_back(self.held)


def _full() -> AntiphonError:
    return overloaded(
        "The requests in progress use all the memory that this server allows for them. Please try again later."
    )


def overloaded(text: str) -> AntiphonError:
    """Return the error for a request that this process has no room for: 503."""
    headers = {"retry-after": "1"}
    kind, code = "service_unavailable_error", "server_is_overloaded"
    return AntiphonError(text, status=503, type=kind, code=code, headers=headers)
