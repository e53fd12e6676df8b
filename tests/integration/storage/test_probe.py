"""How often a store is written to find out whether it can be."""

import asyncio
from pathlib import Path

import pytest

from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.probe import WRITE_AGAIN, WRITE_EVERY, StoreProbe
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.waiting import let_others_run


class Written(SqliteStore):
    """Counts what is written to find out, which fails while `is_full`."""

    writes = 0
    is_full = False

    async def check_writable(self) -> None:
        self.writes += 1
        await let_others_run()
        if self.is_full:
            raise StoreError("The store's disk is full.")
        await super().check_writable()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> Written:
    opened = Written.open("sqlite://")
    assert isinstance(opened, Written)
    return opened


async def test_a_repeated_probe_writes_nothing(store: Written) -> None:
    clock = Clock()
    probe = StoreProbe(lambda: store, clock)
    assert await asyncio.gather(*(probe.is_usable() for _ in range(20))) == [True] * 20
    assert store.writes == 1
    clock.now += WRITE_EVERY
    assert await probe.is_usable()
    assert store.writes == 2


async def test_a_full_disk_is_seen_and_so_is_its_end(store: Written) -> None:
    clock = Clock()
    probe = StoreProbe(lambda: store, clock)
    store.is_full = True
    assert not await probe.is_usable()
    assert not await probe.is_usable()
    assert store.writes == 1
    store.is_full = False
    clock.now += WRITE_AGAIN
    assert await probe.is_usable()


async def test_a_closed_store_is_not_usable(store: Written) -> None:
    probe = StoreProbe(lambda: store)
    await store.close()
    assert not await probe.is_usable()


async def test_a_file_that_was_deleted_or_replaced_cannot_be_written(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    store = await open_store(url)
    await store.check_writable()
    path = tmp_path / "a.db"
    path.unlink()
    with pytest.raises(StoreError, match="deleted or replaced"):
        await store.check_writable()
    path.touch()
    with pytest.raises(StoreError, match="deleted or replaced"):
        await store.check_writable()
    await store.close()
