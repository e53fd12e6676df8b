"""Responses and items: which reads are announced as large"""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.storage.operations import responses
from antiphon.storage.operations.responses import ANY_SIZE
from antiphon.storage.operations.step import FEW_BYTES, FEW_ITEMS, Query, QueryInSlices, ReadSize
from antiphon.storage.records.responses import ChainExtent, LargeItem, StoredItem
from tests.store.making import T, new_response
from tests.support.statements import statements_of

NOW = 1000
ITEM = StoredItem("msg_1", b"{}", "sealed")


def response(items: int, size: int) -> Sequence[Any]:
    """The first row of a response with one item."""
    columns = ("resp_1", 1, "completed", None, b"{}", T, None, None, None, 1, 0)
    return (*columns, 0, "msg_1", b"{}", b"sealed", 7, items, size)


@pytest.mark.parametrize(("items", "size"), [(FEW_ITEMS, 1), (1, FEW_BYTES)])
@pytest.mark.parametrize("few", [False, True])
def test_a_small_response_is_read_at_once(items: int, size: int, few: bool) -> None:
    load = statements_of(responses.load(T, "resp_1", few=few), NOW)
    most = FEW_BYTES if few else ANY_SIZE

    assert next(load) == Query("load", ("resp_1", T, NOW, FEW_ITEMS, FEW_BYTES, most))
    with pytest.raises(StopIteration) as ended:
        load.send([response(items, size)])
    assert (ended.value.value.input, ended.value.value.is_partial) == ((ITEM,), False)


@pytest.mark.parametrize(("items", "size"), [(FEW_ITEMS + 1, 1), (1, FEW_BYTES + 1)])
def test_the_items_of_a_large_response_are_announced_and_read_in_slices(
    items: int, size: int
) -> None:
    load = statements_of(responses.load(T, "resp_1"), NOW)
    next(load)

    assert load.send([response(items, size)]) == ReadSize(items, size)
    step = next(load)
    assert isinstance(step, QueryInSlices) and (step.query, step.values) == ("load_items", (7,))
    step.take([(0, "msg_1", b"{}", b"sealed"), (1, "msg_2", b"[]", None)])
    with pytest.raises(StopIteration) as ended:
        load.send([])
    assert (ended.value.value.input, ended.value.value.output) == (
        (ITEM,),
        (StoredItem("msg_2", b"[]"),),
    )


@pytest.mark.parametrize(("items", "size"), [(FEW_ITEMS + 1, 1), (1, FEW_BYTES + 1)])
def test_a_large_response_is_read_without_its_items_if_few_are_requested(
    items: int, size: int
) -> None:
    load = statements_of(responses.load(T, "resp_1", few=True), NOW)
    next(load)
    with pytest.raises(StopIteration) as ended:
        load.send([response(items, size)])

    assert (ended.value.value.input, ended.value.value.is_partial) == ((), True)


@pytest.mark.parametrize("lock", [[], [(5, None, None)], [(5, "resp_other", None)]])
def test_a_response_that_lost_its_conversation_is_not_saved(lock: Sequence[Any]) -> None:
    save = statements_of(
        responses.save(replace(new_response(), conversation_id="conv_1"), append=True)
    )

    assert next(save) == Query("lock_conversation", ("conv_1", T))
    with pytest.raises(StopIteration) as ended:
        save.send(lock)
    assert ended.value.value is False


def test_a_small_item_is_read_at_once_even_if_only_a_conversation_has_it() -> None:
    find = statements_of(responses.find_item(T, "msg_1"), NOW)

    assert next(find) == Query("find_item", ("msg_1", T, NOW, FEW_BYTES))
    assert find.send([]) == Query("find_conversation_item", ("msg_1", T, FEW_BYTES))
    with pytest.raises(StopIteration) as ended:
        find.send([("msg_1", b"{}", b"sealed", FEW_BYTES)])
    assert ended.value.value == ITEM


def test_a_large_item_is_announced_and_read_again_or_only_named() -> None:
    size = FEW_BYTES + 1
    find = statements_of(responses.find_item(T, "msg_1"), NOW)
    next(find)
    assert find.send([("msg_1", None, None, size)]) == ReadSize(1, size)
    assert next(find) == Query("find_item", ("msg_1", T, NOW, size))

    find = statements_of(responses.find_item(T, "msg_1", few=True), NOW)
    next(find)
    with pytest.raises(StopIteration) as ended:
        find.send([("msg_1", None, None, size)])
    assert ended.value.value == LargeItem("msg_1", b"", size=size)


@pytest.mark.parametrize(("length", "items"), [(3, 8), (8, 3)])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_chain_is_announced_by_its_responses_or_items_whichever_are_more(
    length: int, items: int, is_known: bool
) -> None:
    history = statements_of(
        responses.history(T, "resp_1", ChainExtent(length, False, items, 99) if is_known else None),
        NOW,
    )
    step = next(history)
    if not is_known:
        assert step == Query("history_extent", ("resp_1", T, NOW))
        step = history.send([(length, items, 99)])

    assert step == ReadSize(8, 99)
    step = next(history)
    assert isinstance(step, QueryInSlices) and (step.query, step.values) == (
        "history",
        ("resp_1", T, NOW),
    )
