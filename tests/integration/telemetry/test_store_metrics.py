"""Whatever a store does is timed, and its failures are counted."""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.telemetry.store_metrics import store_metrics
from tests.store.check import check_store
from tests.store.making import T, new_response

METHODS: dict[str, tuple[str, Callable[[Store], Awaitable[object]]]] = {
    "blob_part": ("read", lambda store: store.blob_part("row_1", 0)),
    "check_writable": ("write", lambda store: store.check_writable()),
    "clock_skew": ("read", lambda store: store.clock_skew()),
    "delete_blob_parts": ("write", lambda store: store.delete_blob_parts("row_1")),
    "has_room": ("read", lambda store: store.has_room()),
    "inspect": ("read", lambda store: store.inspect()),
    "measure_chain": ("read", lambda store: store.measure_chain(T, "resp_1", 9)),
    "position": ("read", lambda store: store.position()),
    "put_blob_part": (
        "write",
        lambda store: store.put_blob_part("row_1", 0, b"content", is_last=True),
    ),
    "save": ("write", lambda store: store.save(new_response())),
}
"""The methods of a store that ask it for anything, but for `read` and `write`, which have
operations for it.
"""


def test_every_method_of_a_store_with_a_query_is_here() -> None:
    methods = {
        name
        for name, what in vars(Store).items()
        if inspect.iscoroutinefunction(what) and name[0] != "_"
    }
    assert methods - {"close", "merge_words", "read", "write"} == METHODS.keys()


@pytest.mark.parametrize("name", METHODS)
async def test_it_is_timed_once_as_its_kind(store_url: str, name: str) -> None:
    store = await open_store(store_url)
    kind, call = METHODS[name]

    await call(store)
    assert counts_of(store) == {kind: 1}
    assert failures_of(store) == {}
    await store.close()


async def test_a_failure_is_counted_by_what_was_to_be_done(store_url: str) -> None:
    store = await open_store(store_url)
    await store.close()
    for _, call in METHODS.values():
        with suppress(StoreError):
            await call(store)
    counted = {name for name, count in failures_of(store).items() if count == 1}
    assert counted | {"inspect"} == METHODS.keys() - {"has_room"}


@pytest.mark.wide
async def test_all_that_a_store_promises_is_counted(tmp_path: Path) -> None:
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(SqliteStore.open(f"sqlite://{tmp_path}/a.db"))
        return stores[-1]

    await check_store(opened)

    counts = sum((counts_of(store) for store in stores), Counter[str]())
    assert min(counts["write"], counts["read"]) > 1000
    assert sum((failures_of(store) for store in stores), Counter[str]())["load"] == 1


def counts_of(store: Store) -> Counter[str]:
    """How many operations the metrics have, by their kind."""
    seconds, _ = store_metrics(store)
    return Counter({one.labels["kind"]: sum(one.counts) for one in seconds.samples()})


def failures_of(store: Store) -> Counter[str]:
    """How many failures the metrics have, by the name of the operation."""
    _, errors = store_metrics(store)
    return Counter({one.labels["operation"]: int(one.value) for one in errors.samples()})
