"""The part of the contract that keeps sessions of the console, and the one-time codes that begin them."""

from typing import Protocol

from antiphon.storage.records import ConsoleSession


class Sessions(Protocol):
    """Sessions and codes, by the digests of their secrets. They belong to the server, and to no tenant."""

    async def put_session(self, session: ConsoleSession) -> None:
        """Keep a new session. Of one key, the 100 sessions that were used last are kept."""
        ...

    async def find_session(self, digest: bytes) -> ConsoleSession | None:
        """Return the session of this digest; None if it is unknown or has expired."""
        ...

    async def touch_session(self, digest: bytes, used_at: int, expires_at: int) -> None:
        """Write down that a session was used. A session that was deleted stays deleted."""
        ...

    async def delete_session(self, digest: bytes) -> bool:
        """Delete a session; False if it is unknown."""
        ...

    async def put_code(self, digest: bytes, expires_at: int) -> None:
        """Keep a one-time code until `expires_at`."""
        ...

    async def redeem_code(self, digest: bytes) -> bool:
        """Delete a code; False if it is unknown or has expired. Of many callers, one receives True."""
        ...
