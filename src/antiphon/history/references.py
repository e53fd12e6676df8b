"""Turns references in an input into the items that they name."""

from collections.abc import Sequence
from typing import Any

from antiphon.errors import ClientError
from antiphon.history.decoding import WITH_STATE, load_few
from antiphon.history.history_errors import request_outside_history
from antiphon.history.history_memory import HistoryMemory
from antiphon.history.parts import HistoryParts
from antiphon.protocol.items.calls import ShellCallOutput
from antiphon.protocol.items.hosted import ImageGenerationCall, McpApprovalRequest
from antiphon.protocol.items.messages import InputItem, ItemReference, Reasoning
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import LargeItem, StoredItem
from antiphon.translation.signed_calls import SIGNABLE, SIGNED_CALL, item_of, sign
from antiphon.translation.to_chat_completions.reasoning import displayed_text, with_text
from antiphon.translation.to_chat_completions.request import as_sent

REFERRING = (ItemReference, *(kind for kind in WITH_STATE if kind is not ShellCallOutput))
"""Items that can refer to stored items."""


class References:
    """Resolves the references in a request's input; their total size has the same limit as a
    history.
    """

    def __init__(
        self,
        parts: HistoryParts,
        tenant: str,
        history: Sequence[InputItem],
        intake: HistoryMemory,
        *,
        is_conversation: bool,
    ) -> None:
        self._store = parts.store
        self._bounds = parts.bounds
        self._offload = parts.offload
        self._keyring = parts.keyring
        self._tenant = tenant
        self._items = history
        self._intake = intake
        self._has_history = is_conversation or bool(history)
        self._history: dict[str, InputItem] | None = None
        """The items of the history by id; None until one is looked up."""
        self._size = 0

    async def resolve(self, item: InputItem) -> InputItem:
        """Return the stored item for a reference; bare reasoning with the content stored for it.

        Raises `ClientError`: 404 for a reference to an unknown item, 400 if the item is too large,
        or if it is an approval request outside the history.
        """
        if isinstance(item, ItemReference):
            return self._known(str(item.id)) or await self._find(str(item.id))
        if type(item) is ImageGenerationCall and item.id and not (item.result or item.status):
            return self._known(item.id) or await self._find(item.id)
        if isinstance(item, WITH_STATE) and not item.encrypted_content and item.id:
            stored = await self._load(item.id)
            if stored is not None and stored.sealed:
                item.encrypted_content = stored.sealed
            if stored is not None and type(item) is Reasoning and not displayed_text(item):
                await self._recall_text(item, stored)
        return item

    async def _recall_text(self, item: Reasoning, stored: StoredItem) -> None:
        """Give the model the stored text of reasoning that the client sent back without it, sealed:
        the item stays as it was sent.
        """
        tenant = self._tenant
        (loaded,) = await load_few([stored], self._offload, tenant)
        text = displayed_text(loaded) if isinstance(loaded, Reasoning) else ""
        if text:
            state = self._keyring.unseal(stored.sealed, tenant) if stored.sealed else None
            item.encrypted_content = self._keyring.seal(with_text(state or {}, text), tenant)

    async def recall_signature(self, call: Any) -> None:
        """Give a call the signature that is stored with it, sealed: its reasoning can be missing in
        the input.
        """
        if call.call_id.startswith(SIGNED_CALL):
            stored = await self._load(item_of(call.call_id, SIGNABLE[type(call)]))
            if stored is not None and stored.sealed:
                sign(call, stored.sealed)

    def _known(self, item_id: str) -> InputItem | None:
        """Return the item that is in the history: the store can have others with its id."""
        if self._history is None:
            self._history = {str(item.id): item for item in self._items}
        return self._history.get(item_id)

    async def _find(self, item_id: str) -> InputItem:
        stored = await self._load(item_id)
        if stored is None:
            raise ClientError(
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set "
                "to false. "
                "Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )
        (loaded,) = await load_few([stored], self._offload, self._tenant)
        found = as_sent(loaded)
        if type(found) is McpApprovalRequest and self._has_history:
            raise request_outside_history()
        return found

    async def _load(self, item_id: str) -> StoredItem | None:
        stored = await self._store.read(responses.find_item, self._tenant, item_id, few=True)
        if isinstance(stored, LargeItem):
            self._bounds.check_referred(self._size + stored.size)
            await self._intake.ahead(stored.size, 1)
            stored = await self._store.read(responses.find_item, self._tenant, item_id)
        if stored is not None:
            self._size += len(stored.body) + len(stored.sealed or "")
            self._bounds.check_referred(self._size)
            await self._intake.known([stored])
        return stored
