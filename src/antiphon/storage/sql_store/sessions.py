"""Console session methods of the SQL stores."""

from dataclasses import replace

from antiphon.storage.operations import sessions
from antiphon.storage.records import ConsoleSession
from antiphon.storage.sql_store.performer import Performer


class SqlSessions(Performer):
    """See `Sessions`. Callers pass times of this process's clock; they are stored as times of the store's clock."""

    async def put_session(self, session: ConsoleSession) -> None:
        """See `Store.put_session`."""
        shift = int(self._shift)
        used_at, expires_at = session.used_at + shift, session.expires_at + shift
        dated = replace(session, created_at=session.created_at + shift, used_at=used_at, expires_at=expires_at)
        await self._write(lambda: sessions.put(dated))

    async def find_session(self, digest: bytes) -> ConsoleSession | None:
        """See `Store.find_session`."""
        return await self._read(lambda: sessions.find(digest, self._now()))

    async def touch_session(self, digest: bytes, used_at: int, expires_at: int) -> None:
        """See `Store.touch_session`."""
        shift = int(self._shift)
        await self._write(lambda: sessions.touch(digest, used_at + shift, expires_at + shift))

    async def delete_session(self, digest: bytes) -> bool:
        """See `Store.delete_session`."""
        return await self._free(lambda: sessions.delete(digest))

    async def put_code(self, digest: bytes, expires_at: int) -> None:
        """See `Store.put_code`."""
        await self._write(lambda: sessions.put_code(digest, expires_at + int(self._shift)))

    async def redeem_code(self, digest: bytes) -> bool:
        """See `Store.redeem_code`."""
        return await self._write(lambda: sessions.redeem_code(digest, self._now()))
