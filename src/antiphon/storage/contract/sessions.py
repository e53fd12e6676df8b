"""The store contract for console sessions, and the one-time codes that start them."""

from typing import Protocol

from antiphon.storage.records import ConsoleSession


class Sessions(Protocol):
    """Sessions and codes, by the digests of their secrets. They belong to the server, not to a tenant."""

    async def put_session(self, session: ConsoleSession) -> None:
        """Store a new session. Each key keeps its 100 most recently used sessions."""
        ...

    async def find_session(self, digest: bytes) -> ConsoleSession | None:
        """Return the session with this digest, or None if it is unknown or has expired."""
        ...

    async def touch_session(self, digest: bytes, used_at: int, expires_at: int) -> None:
        """Record that a session was used. A deleted session stays deleted."""
        ...

    async def delete_session(self, digest: bytes) -> bool:
        """Delete a session; return False if it is unknown."""
        ...

    async def put_code(self, digest: bytes, expires_at: int) -> None:
        """Store a one-time code until `expires_at`."""
        ...

    async def redeem_code(self, digest: bytes) -> bool:
        """Delete a code; return False if it is unknown or has expired. Only one of concurrent callers receives True."""
        ...
