"""The items of a conversation, each with its place in the client's messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.messages.blocks import Block, TextBlock
from antiphon.protocol.messages.requests import MessageParam
from antiphon.protocol.messages.wording import refusal

Turn = Sequence[tuple[int, MessageParam]]
"""Consecutive messages of one role, with their positions."""

Placed = tuple[int, int, Any]
"""The position of a message, that of a block in it, and the block."""

_ROLES = {
    **dict.fromkeys(("image", "search_result", "tool_result"), "user"),
    **dict.fromkeys(("tool_addition", "tool_removal"), "system"),
}
"""The role that can have a block; that of all others is the assistant."""


class PlacedItems(Struct):
    """Grows while messages are read. The message of `system` has the position -1."""

    items: list[InputItem] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0
    """How many of the first items are instructions, which a compaction does not replace."""

    def add(self, message: int, block: int, item: InputItem) -> None:
        """Add an item that begins with this block."""
        self.items.append(item)
        self.places.append((message, block))

    def replace_all(self) -> None:
        """Drop everything except the instructions."""
        del self.items[self.first :], self.places[self.first :]

    def drop_last(self) -> None:
        """Drop the last item."""
        self.items.pop()
        self.places.pop()


def turns_of(messages: Sequence[MessageParam]) -> Iterator[tuple[str, Turn]]:
    """Join consecutive messages of one role; yield the role with each turn."""
    turn: list[tuple[int, MessageParam]] = []
    for position, message in enumerate(messages):
        if turn and turn[-1][1].role != message.role:
            yield turn[-1][1].role, turn
            turn = []
        turn.append((position, message))
    if turn:
        yield turn[-1][1].role, turn


def blocks_of(turn: Turn) -> Iterator[Placed]:
    """Yield the blocks of a turn; a string is one text."""
    for position, message in turn:
        if isinstance(message.content, str):
            yield position, 0, TextBlock(text=message.content)
        else:
            for index, block in enumerate(message.content):
                yield position, index, block


def misplaced(block: Block, path: str) -> ClientError:
    """Return the error for a block that its role cannot have."""
    role = _ROLES.get(block.type, "assistant")
    return refusal(path, f"`{block.type}` blocks can only be in `{role}` messages")
