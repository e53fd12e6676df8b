"""The methods of a store for any SQL database."""

from collections.abc import Callable, Mapping
from functools import partial
from secrets import token_bytes

from antiphon.errors import StoreError
from antiphon.storage.contract import RETENTION, Pulse
from antiphon.storage.operations import responses, secrets
from antiphon.storage.sql_store.containers import SqlContainers
from antiphon.storage.sql_store.files import SqlBlobs
from antiphon.storage.sql_store.responses import SqlResponses
from antiphon.storage.sql_store.vector_stores import SqlVectorStores


class SqlStore(
    SqlResponses,
    SqlBlobs,
    SqlVectorStores,
    SqlContainers,
):
    """A `Store` without its database: subclasses run the operations, and decide how many plain saves are combined."""

    async def purge(self, retention: int = RETENTION, *, dry_run: bool = False) -> Mapping[str, int]:
        """See `Store.purge`."""
        stores = await self._purge_vector_stores(dry_run=dry_run)
        return {**await super().purge(retention, dry_run=dry_run), "vector_stores": stores}

    async def trim_answers(self, limit: int) -> int:
        """See `Store.trim_answers`."""
        return await self._in_steps("trim_answers", limit)

    def pulse(self, worker: str) -> Pulse | None:
        """See `Store.pulse`."""
        return None

    def on_change(self, listener: Callable[[str], None]) -> None:
        """See `Store.on_change`."""
        self._listeners.append(listener)

    async def check(self) -> None:
        """See `Store.check`."""
        await self._read(partial(responses.load, "", "resp_check"))

    async def check_writable(self) -> None:
        """See `Store.check_writable`."""
        await self._write(lambda: secrets.try_to_write(token_bytes(8)))

    async def has_room(self) -> bool:
        """See `Store.has_room`."""
        if self._is_disk_full:
            try:
                await self.check_writable()
            except StoreError as error:
                return not error.is_disk_full
            self._is_disk_full = False
        return True

    async def inspect(self) -> Mapping[str, int]:
        """See `Store.inspect`."""
        return await self._read(responses.counts)
