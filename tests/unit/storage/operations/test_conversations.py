"""Conversations: which reads are announced as large."""

from typing import Any

import pytest

from antiphon.storage.operations import conversations
from antiphon.storage.operations.step import FEW_BYTES, FEW_ITEMS, Query, QueryInSlices, ReadSize


def row(items: int, size: int) -> tuple[Any, ...]:
    return ("conv_1", 1, b"{}", "acme", items, items, size)


@pytest.mark.parametrize(
    ("items", "size", "is_large"),
    [(FEW_ITEMS, FEW_BYTES, False), (FEW_ITEMS + 1, 1, True), (1, FEW_BYTES + 1, True)],
)
def test_the_items_of_a_large_conversation_are_read_without_blocking_the_loop(
    items: int, size: int, is_large: bool
) -> None:
    read = conversations.items("acme", "conv_1")

    assert next(read) == Query("load_conversation", ("conv_1", "acme"))
    step = read.send([row(items, size)])
    assert isinstance(step, ReadSize) and step.is_large is is_large
    step = next(read)
    assert isinstance(step, QueryInSlices) and step.query == "conversation_items"
