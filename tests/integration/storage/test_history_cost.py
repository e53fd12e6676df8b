"""What histories and pages ask of their database, in statements and rows, which no machine makes
fewer or more.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.storage.act import Act
from antiphon.storage.input_pages import input_page
from antiphon.storage.open import open_store
from antiphon.storage.operations import responses
from antiphon.storage.operations.pages import BLOCK
from antiphon.storage.operations.step import Operation, Query, QueryInSlices, Rows
from antiphon.storage.records.responses import ChainExtent, PageQuery
from antiphon.storage.store import Store
from tests.store.making import T, chain_of, new_items, new_response


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    assert isinstance(opened, Store)
    yield opened
    await opened.close()


@pytest.fixture
def requested(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each statement returned."""
    requested: list[int] = []
    read = store._perform_read

    def counted(operation: Operation[Any]) -> Operation[Any]:
        rows: Rows | None = None
        try:
            while True:
                step = operation.send(rows)
                if isinstance(step, QueryInSlices):
                    requested.append(0)
                    rows = yield QueryInSlices(step.query, step.values, partial(take, step))
                else:
                    rows = yield step
                    requested.extend([len(rows)] if isinstance(step, Query) else [])
        except StopIteration as end:
            return end.value

    def take(step: QueryInSlices, part: Rows) -> None:
        requested[-1] += len(part)
        step.take(part)

    def counting(act: Act[Any]) -> Any:
        def operation(*args: Any, **kwargs: Any) -> Operation[Any]:
            return counted(act.operation(*args, **kwargs))

        return read(replace(act, operation=operation))

    monkeypatch.setattr(store, "_perform_read", counting)
    return requested


async def test_a_history_is_one_statement_and_as_many_rows_as_its_items(
    store: Store, requested: list[int]
) -> None:
    chain = chain_of(100)
    await asyncio.gather(*(store.save(response) for response in chain))
    for turns in (1, 10, 100):
        requested.clear()
        items = await store.read(
            responses.history, T, chain[turns - 1].id, ChainExtent(turns, False, 3 * turns, 100)
        )

        assert items is not None
        assert requested == [len(items)]


@pytest.mark.parametrize("descending", [True, False])
async def test_a_page_reads_no_more_items_than_it_returns(
    store: Store, requested: list[int], descending: bool
) -> None:
    chain = chain_of(300)
    await asyncio.gather(*(store.save(response) for response in chain))
    large = new_response(new_items(*map(str, range(3000))), previous=chain[-1].id)
    await store.save(large)
    newest, older = (chain[number].input[0].id for number in (299, 200))
    for after, rows in (
        (None, 3),
        (large.input[1000].id, 3),
        (newest, BLOCK + 3),
        (older, 300 + 3),
    ):
        await store.measure_chain(T, chain[-1].id, 1000)
        requested.clear()
        page = await input_page(store, T, large.id, PageQuery(2, after, descending=descending))

        assert page is not None
        assert (len(page.data), page.has_more) == (2, True)
        # Beside the items: the response, its last input, the item's place, the last two responses
        # of the chain, and one row for each response on the way.
        assert sum(requested) <= rows + 5 + (0 if descending else 300)


async def test_facts_of_one_chain_are_reported_for_no_other(store: Store) -> None:
    parent = chain_of(1)[0]
    alone = new_response()
    for response in (new_response(previous=parent.id), parent, alone):
        await store.save(response)
    assert (await store.measure_chain(T, parent.id, 9)).length == 1

    assert (await store.measure_chain(T, alone.id, 9)).length == 1


async def test_of_a_chain_that_is_known_the_last_two_responses_are_read(
    store: Store, requested: list[int]
) -> None:
    parent, child = chain_of(2)
    for response in (parent, child):
        await store.save(response)
    await store.measure_chain(T, parent.id, 9)
    requested.clear()

    assert (await store.measure_chain(T, child.id, 9)).length == 2
    assert requested == [2]
