"""The newest histories that clients send again with each turn, decoded and checked.

An agent that stores nothing sends its whole history with each request, and adds to its end. The
JSON of the new `input` then begins with that of the one before, byte for byte. One comparison in C
finds that; only the items behind it are decoded and checked, and the items before them are the same
objects. They are not changed: `normalise_input` copies an item that needs a change. What they
become is kept too (`history/sent_histories.py`).
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol

from msgspec import Raw

from antiphon.protocol.items.calls import CustomToolCall, CustomToolCallOutput
from antiphon.protocol.items.messages import (
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
)

KINDS = frozenset[type](
    {Message, Reasoning, FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput}
)
"""Items of which each is checked on its own, and that need nothing else to be read."""

LARGEST = 4 * 1024 * 1024
"""Bytes of JSON that are kept of one history."""

PER_BYTE, PER_ITEM = 10, 4096
"""What a history takes in memory: its JSON, its items, and what they become: items again, with the
same texts, what is sealed in them, and JSON for two kinds of backends. The texts can have four
bytes for each character.
"""


_id = attrgetter("id")


class KnownInput:
    """The items of an input, and their JSON from the opening bracket to the end of the last
    item.
    """

    __slots__ = ("history", "items", "json", "key")

    def __init__(
        self, json: bytes, items: Sequence[InputItem], before: "KnownInput | None" = None
    ) -> None:
        self.json = json
        self.items = items
        self.key: object = object() if before is None else before.key
        """The key of its conversation, which is that of the input that it continues."""
        self.history: object = None if before is None else before.history
        """What the items have become, or those at the beginning: see `runs.sent_histories`."""

    @property
    def ids(self) -> set[Any]:
        """The ids of the items. It can contain None and UNSET, for items without one."""
        return {*map(_id, self.items)}

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""
        return PER_BYTE * len(self.json) + PER_ITEM * len(self.items)


SentTexts = dict[int, tuple[str, Raw]]
"""The `id()` of a text -> the text and its JSON as the client sent it."""


class SentItems(list[InputItem]):
    """The items of an input that is kept for the next turn. `texts` has the long texts of its new
    items.
    """

    __slots__ = ("known", "texts")

    def __init__(self, known: KnownInput, texts: SentTexts) -> None:
        super().__init__(known.items)
        self.known = known
        self.texts = texts


class InputMemory(Protocol):
    """Keeps the newest inputs of each tenant, each under the key of its conversation."""

    def of(self, tenant: str) -> list[KnownInput]:
        """Return all of them. Any thread can call this."""

    def put(self, tenant: str, known: KnownInput) -> None:
        """Keep an input, in place of the one that it continues."""
