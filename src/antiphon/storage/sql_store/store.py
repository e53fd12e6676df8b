"""The contract's methods as acts, whichever database performs them."""

from collections.abc import Mapping
from secrets import token_bytes

from antiphon.storage.operations import responses, secrets
from antiphon.storage.sql_store.chat_completions import SqlChatCompletions
from antiphon.storage.sql_store.conversations import SqlConversations
from antiphon.storage.sql_store.jobs import SqlJobs
from antiphon.storage.sql_store.profiles import SqlProfiles
from antiphon.storage.sql_store.responses import SqlResponses
from antiphon.storage.sql_store.tenants import SqlTenants


class SqlStore(SqlResponses, SqlJobs, SqlConversations, SqlChatCompletions, SqlTenants, SqlProfiles):
    """A `Store` but for its database: how an act is performed, and how many plain saves go in together."""

    async def check(self) -> None:
        """See `Store.check`."""
        await self._read(lambda: responses.load("", "resp_check", self._now()))

    async def check_writable(self) -> None:
        """See `Store.check_writable`."""
        await self._write(lambda: secrets.try_to_write(token_bytes(8)))

    async def inspect(self) -> Mapping[str, int]:
        """See `Store.inspect`."""
        return await self._read(responses.counts)
