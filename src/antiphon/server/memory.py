"""Bytes that clients make this process hold: bodies of requests, messages of WebSockets, what these remember."""

import gc

from antiphon.errors import AntiphonError, ClientError
from antiphon.sharing.scheduler import SHARE

LARGE = 64 * 1024
"""Bytes of a body from which on it is looked after what becomes of it."""

SWEEP = 128 * 1024 * 1024
"""Bytes of large bodies after whose end the garbage collector has a look: it counts objects, and these are few."""


class Room:
    """The bytes of all requests and connections together, shared between tenants.

    A tenant holds at most `SHARE` times what is still free, so that some is always left for the next one; but `least`
    bytes in any case. Without API keys there is one tenant, "", which may hold all of it.
    """

    def __init__(self, size: int, least: int = 0) -> None:
        self.left = size
        self._least = least
        self._held: dict[str, int] = {}
        self._litter = 0

    def take(self, size: int, tenant: str = "") -> None:
        """Hold so many bytes. Raises `AntiphonError` (503) where there is no room for them."""
        if size > self.left:
            raise _full()
        if tenant:
            held = self._held.get(tenant, 0) + size
            if held > max(self._least, SHARE * (self.left - size)):
                raise _full()
            self._held[tenant] = held
        self.left -= size

    def give_back(self, size: int, tenant: str = "") -> None:
        """Hold so many bytes no longer."""
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
        """Hold so many bytes more. Raises `ClientError` (429) where the connection holds too many, else as `Room`."""
        if self.held + size > self._most:
            raise ClientError(
                "Too many requests wait on this WebSocket connection. Send more when responses have ended.",
                status=429,
                type="requests",
                code="too_many_requests",
            )
        self._room.take(size, self._tenant)
        self.held += size

    def give_back(self, size: int) -> None:
        """Hold so many bytes no longer."""
        self.held -= size
        self._room.give_back(size, self._tenant)

    def close(self) -> None:
        """The connection has ended: hold nothing."""
        self.give_back(self.held)


def _full() -> AntiphonError:
    return overloaded("What is being worked on is too large to take more. Please try again later.")


def overloaded(text: str) -> AntiphonError:
    """Return the error for more than this process can take."""
    headers = {"retry-after": "1"}
    kind, code = "service_unavailable_error", "server_is_overloaded"
    return AntiphonError(text, status=503, type=kind, code=code, headers=headers)
