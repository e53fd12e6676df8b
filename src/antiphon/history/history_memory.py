"""The memory for a response's history: reserved before the history is read, and again before it is
decoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.history.bounds import Bounds
from antiphon.sharing.memory import LARGE, Account, weight
from antiphon.storage.records.responses import ChainExtent, StoredConversation, StoredItem


@dataclass(slots=True)
class HistoryMemory:
    """Reserves memory for the data loaded for one response, in steps of `LARGE` bytes or more.

    Each turn reserves it for all of its history, even if the chain cache has the values: each turn
    has its own request to the backend, and the cache can evict a chain while turns still use it.
    Each method raises `ClientError` for data above the `bounds` (400) or above the maximum of one
    request (413), and `AntiphonError` (503) if no memory is free now, unless the account is
    patient.
    """

    bounds: Bounds
    account: Account
    _due: int = 0
    """Bytes that are not reserved yet, since they are few."""

    @property
    def most(self) -> int:
        """See `Intake.most`: reading each response of the chain takes time."""
        return self.bounds.history_items + 1

    async def measured(self, extent: ChainExtent) -> None:
        """Reserve memory for a chain that is not read yet."""
        self.bounds.check_history(extent)
        await self.add(weight(extent.size, extent.items))

    async def measured_conversation(self, conversation: StoredConversation) -> None:
        """Reserve memory for a conversation that is not read yet."""
        self.bounds.check_conversation(conversation)
        await self.add(weight(conversation.size, conversation.items))

    async def ahead(self, size: int, items: int) -> None:
        """Reserve memory for data that is not read yet.

        Once it is read and `known`, it is not counted again.
        """
        before = weight(size, items)
        await self.account.obtain(before)
        self._due -= before

    async def read(self, stored: Sequence[StoredItem]) -> None:
        """Reserve the additional memory for the items of a history, from their text; they are not
        decoded yet.
        """
        wide = sum(len(item.body) for item in stored if not item.body.isascii())
        if wide:
            await self.add(weight(0, wide=wide))

    async def known(self, stored: Sequence[StoredItem]) -> None:
        """Reserve memory for items that are loaded and not decoded yet."""
        await self.add(
            weight(sum(len(item.body) + len(item.sealed or "") for item in stored), len(stored))
        )
        await self.read(stored)

    async def add(self, size: int) -> None:
        """Reserve this many bytes; small amounts are added to the next reservation."""
        self._due += size
        if self._due >= LARGE:
            size = self._due
            self._due = 0
            await self.account.obtain(size)
