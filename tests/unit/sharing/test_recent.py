from antiphon.sharing.recent import PER_ENTRY, Recent

SIZE = PER_ENTRY + 10


def ten() -> Recent[str, bytes]:
    """Room for ten values of ten bytes each."""
    return Recent(10 * SIZE, len)


def test_a_value_is_found_by_its_own_tenant_alone() -> None:
    known = ten()
    known.put("a", "key", b"value")
    assert (known.find("a", "key"), known.find("b", "key"), known.find("a", "other")) == (
        b"value",
        None,
        None,
    )


def test_the_tenant_with_the_most_loses_its_oldest_value_first() -> None:
    known = ten()
    known.put("quiet", "mine", bytes(10))
    for number in range(100):
        known.put("busy", str(number), bytes(10))
    assert known.find("quiet", "mine") is not None
    assert [number for number in range(100) if known.find("busy", str(number))] == [*range(91, 100)]
    assert known.size == 10 * SIZE


def test_a_value_that_was_used_counts_as_new() -> None:
    known = ten()
    for number in range(10):
        known.put("a", str(number), bytes(10))
    known.find("a", "0")
    known.put("a", "10", bytes(10))
    assert known.find("a", "0") is not None
    assert known.find("a", "1") is None


def test_a_value_that_is_replaced_takes_no_more_room() -> None:
    known = ten()
    for _ in range(3):
        known.put("a", "key", bytes(10))
    assert known.size == SIZE


def test_a_value_larger_than_the_cache_is_not_stored() -> None:
    known = ten()
    known.put("a", "key", bytes(11 * SIZE))
    assert (known.find("a", "key"), known.size) == (None, 0)
