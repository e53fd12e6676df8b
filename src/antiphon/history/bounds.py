"""How much state a request can contain, load and store: the limits, and the error above each of
them.

The defaults follow from what clients need. A context of a million tokens is 4 MB of text. A long
agent session has three items per step (reasoning, call and output) of at least a few hundred
tokens, so a million tokens are about 6,000 items; a client that stores nothing, such as Codex,
sends all of them with each request. Images add to that: 60 MB are 200 screenshots.
"""

from dataclasses import dataclass
from typing import Literal

from antiphon.errors import ClientError
from antiphon.protocol.validation.refusals import too_long
from antiphon.storage.records.responses import ChainExtent, StoredConversation

MEBIBYTE = 1024 * 1024


@dataclass(slots=True)
class Bounds:
    """The limits. `stored_bytes = 0` means no limit."""

    items: int = 20_000
    """Items in a request's input."""
    history_items: int = 20_000
    """Items that a turn can load."""
    history_bytes: int = 64 * MEBIBYTE
    """Bytes of the items that a turn can load."""
    conversation_items: int = 20_000
    """Items in a conversation: all of them are loaded with each turn."""
    conversation_bytes: int = 64 * MEBIBYTE
    """Bytes of a conversation."""
    stored_bytes: int = 0
    """Bytes that a tenant can store."""
    containers: int = 1_000
    """Running containers that a tenant can have."""
    container_memory: Literal["1g", "4g", "16g", "64g"] = "4g"
    """Largest `memory_limit` that a container can have."""

    def check_history(self, extent: ChainExtent) -> None:
        """Raise `ClientError` (400) if a history is too long to be loaded."""
        self._check_loaded(max(extent.length, extent.items), extent.size, "previous_response_id")

    def check_conversation(self, conversation: StoredConversation) -> None:
        """Raise `ClientError` (400) if a conversation is too long to be loaded."""
        self._check_loaded(conversation.items, conversation.size, "conversation")

    def _check_loaded(self, items: int, size: int, param: str) -> None:
        most = self.history_items
        kind = "items"
        amount = items
        if items <= most:
            most = self.history_bytes
            kind = "bytes"
            amount = size
        if amount > most:
            raise ClientError(
                f"Your input exceeds the context window: its history has {amount} {kind} or more, "
                f"and this server loads at most {most}. Start a new chain, "
                "and compact it before it grows this long.",
                code="context_length_exceeded",
                param=param,
            )

    def check_referred(self, size: int) -> None:
        """Raise `ClientError` (400) if the items that the input refers to are too large to be
        loaded.
        """
        if size > self.history_bytes:
            raise ClientError(
                "Your input exceeds the context window: this server loads at most "
                f"{self.history_bytes} bytes of the items that an input refers to.",
                code="context_length_exceeded",
                param="input",
            )

    def check_addition(self, conversation: StoredConversation, items: int, size: int = 0) -> None:
        """Raise `ClientError` (400) if a conversation has no room for more items of `size`
        bytes.
        """
        for kind, amount, most in (
            ("items", conversation.items + items, self.conversation_items),
            ("bytes", conversation.size + size, self.conversation_bytes),
        ):
            if amount > most:
                raise ClientError(
                    f"The conversation is full: it would have {amount} {kind}, "
                    f"and the limit is {most}. Delete items, or continue in a new conversation.",
                    code="conversation_too_large",
                    param="conversation",
                )

    def check_stored(self, size: int, reserved: int = 0) -> None:
        """Raise `ClientError` (429) if a tenant has stored `size` bytes, and can store no more.

        `reserved` is the estimate of what its requests in progress will store.
        """
        if not 0 < self.stored_bytes <= size + reserved:
            return
        stored = f"{size} bytes are stored"
        advice = "Delete responses or conversations, or send `store: false`."
        headers = {"x-should-retry": "false"}
        if size < self.stored_bytes:
            stored += f", {reserved} are reserved for your requests in progress"
            advice = "Try again when some of them have ended."
            headers = {"retry-after": "1"}
        raise ClientError(
            f"You exceeded your storage quota: {stored}, and {self.stored_bytes} are allowed. "
            f"{advice}",
            status=429,
            type="insufficient_quota",
            code="storage_quota_exceeded",
            headers=headers,
        )

    def check_input(self, items: int) -> None:
        """Raise `ClientError` (400) if an input has too many items."""
        if items > self.items:
            raise too_long("input", "array", self.items, items)
