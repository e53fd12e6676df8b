"""Signatures in memory, which tenants share."""

from sys import getsizeof

import pytest

from antiphon.retrieval.loaded import PER_CHUNK, PER_FILE, PER_STORE, Loaded, LoadedStores

MIB = 1024 * 1024


def loaded(mebibytes: float, dimensions: int = 384) -> Loaded:
    """Return signatures that take about so much memory."""
    signature = 1 << dimensions - 1
    count = int(mebibytes * MIB) // (PER_CHUNK + getsizeof(signature))
    return Loaded(1, frozenset({1}), list(range(count)), [signature] * count)


def stored(stores: LoadedStores, *names: tuple[str, str]) -> list[tuple[str, str]]:
    return [name for name in names if stores.get(*name) is not None]


@pytest.mark.parametrize("dimensions", [384, 3072])
def test_memory_is_counted_in_bytes_whatever_the_model(dimensions: int) -> None:
    one = loaded(2, dimensions)

    assert one.size == pytest.approx(2 * MIB, rel=0.01)
    assert Loaded(1, frozenset({1, 2}), [], []).size == PER_STORE + 2 * PER_FILE


def test_the_store_that_was_unused_for_longest_makes_room() -> None:
    stores = LoadedStores(3 * MIB)
    stores.put("a", "one", loaded(1))
    stores.put("a", "two", loaded(1))
    stores.get("a", "one")
    stores.put("a", "three", loaded(1))

    assert stored(stores, ("a", "one"), ("a", "two"), ("a", "three")) == [
        ("a", "one"),
        ("a", "three"),
    ]
    assert (stores.usage.in_use, stores.usage.capacity) == (2, 3)


def test_many_stores_of_one_tenant_never_evict_those_of_a_tenant_with_less() -> None:
    stores = LoadedStores(10 * MIB)
    stores.put("small", "s", loaded(2))
    for number in range(100):
        stores.put("large", f"l{number}", loaded(1))

    assert stored(stores, ("small", "s"), ("large", "l99"), ("large", "l90")) == [
        ("small", "s"),
        ("large", "l99"),
    ]
    assert stores.usage.in_use <= stores.usage.capacity


def test_a_store_in_use_stays_however_large_and_the_next_one_evicts_it() -> None:
    stores = LoadedStores(MIB)
    stores.put("a", "large", loaded(5))
    assert stored(stores, ("a", "large")) == [("a", "large")]
    stores.put("b", "small", loaded(0.5))

    assert stored(stores, ("a", "large"), ("b", "small")) == [("b", "small")]
    assert stores.usage.in_use == 1


def test_a_newer_revision_takes_the_place_of_the_older_one() -> None:
    stores = LoadedStores(10 * MIB)
    stores.put("a", "one", loaded(4))
    stores.put("a", "one", loaded(2))
    assert stores.usage.in_use == 2
    stores.drop("a", "one")
    stores.drop("a", "one")

    assert stores.usage.in_use == 0
