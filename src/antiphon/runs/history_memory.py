"""What a response's history takes of the process's memory: obtained before it is read, again before it is decoded."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.runs.bounds import Bounds
from antiphon.sharing.memory import LARGE, Account, weight
from antiphon.storage.contract import ChainExtent, StoredConversation, StoredItem


@dataclass(slots=True)
class HistoryMemory:
    """Obtains memory for what is loaded for one response, in steps of `LARGE` bytes or more.

    Each turn obtains it for all of its history, also where the chain cache has the values: the request to the backend
    is each turn's own, and the cache may forget a chain whose turns still use it. Each method raises `ClientError` for
    what is beyond the `bounds` (400) or more than one request may ever have (413), and `AntiphonError` (503) where no
    memory is free now, unless the account is patient.
    """

    bounds: Bounds
    account: Account
    _due: int = 0
    """Bytes that are not obtained yet, since they are few."""

    @property
    def most(self) -> int:
        """See `Intake.most`: the way up a chain costs time for each response."""
        return self.bounds.history_items + 1

    async def measured(self, extent: ChainExtent) -> None:
        """Obtain memory for a chain, which is not read yet."""
        self.bounds.check_history(extent)
        await self.add(weight(extent.size, extent.items))

    async def measured_conversation(self, conversation: StoredConversation) -> None:
        """Obtain memory for a conversation, which is not read yet."""
        self.bounds.check_conversation(conversation)
        await self.add(weight(conversation.size, conversation.items))

    async def ahead(self, size: int, items: int) -> None:
        """Obtain memory for data that is not read yet. Once it is read and `known`, it is not counted again."""
        before = weight(size, items)
        await self.account.obtain(before)
        self._due -= before

    async def read(self, stored: Sequence[StoredItem]) -> None:
        """Obtain what the items of a history take besides, as their text shows; they are not decoded yet."""
        wide = sum(len(item.body) for item in stored if not item.body.isascii())
        if wide:
            await self.add(weight(0, wide=wide))

    async def known(self, stored: Sequence[StoredItem]) -> None:
        """Obtain memory for items that are at hand and not decoded yet."""
        await self.add(weight(sum(len(item.body) + len(item.sealed or "") for item in stored), len(stored)))
        await self.read(stored)

    async def add(self, size: int) -> None:
        """Obtain so many bytes; few ones together with what comes later."""
        self._due += size
        if self._due >= LARGE:
            size, self._due = self._due, 0
            await self.account.obtain(size)
