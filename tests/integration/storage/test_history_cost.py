"""What a history asks of its database, in statements and rows, which no machine makes fewer or more."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.storage.open import open_store
from antiphon.storage.operations.step import Operation
from antiphon.storage.sql_store import MakeAct, SqlStore
from antiphon.testing.store.making import T, chain_of


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(store_url)
    assert isinstance(opened, SqlStore)
    yield opened
    await opened.close()


async def test_a_history_is_one_statement_and_as_many_rows_as_its_items(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = store._read

    def counted(make: MakeAct[Any]) -> Operation[Any]:
        act, rows = make(), None
        try:
            while True:
                rows = yield act.send(rows)
                asked.append(len(rows))
        except StopIteration as end:
            return end.value

    monkeypatch.setattr(store, "_read", lambda make, tenant=None: read(lambda: counted(make), tenant))
    chain = chain_of(100)
    await asyncio.gather(*(store.save(response) for response in chain))
    for turns in (1, 10, 100):
        asked.clear()
        items = await store.history(T, chain[turns - 1].id)

        assert items is not None
        assert asked == [len(items)]
