"""Pages that were read lately."""

from antiphon.tools.web.pages import ByteLimitedCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache: ByteLimitedCache[str] = ByteLimitedCache(most=10)
    for name in "abc":
        cache.put(("t", name), name, 4)
        cache.get(("t", "a"))
    assert [cache.get(("t", name)) for name in "abc"] == ["a", None, "c"]


def test_an_entry_larger_than_the_cache_is_not_stored() -> None:
    cache: ByteLimitedCache[str] = ByteLimitedCache(most=10)
    cache.put(("t", "a"), "a", 11)
    assert cache.get(("t", "a")) is None
    cache.put(("t", "b"), "b", 10)
    assert cache.get(("t", "b")) == "b"


def test_what_is_put_again_counts_once() -> None:
    cache: ByteLimitedCache[str] = ByteLimitedCache(most=10)
    for _ in range(5):
        cache.put(("t", "a"), "a", 6)
    cache.put(("t", "b"), "b", 4)
    assert (cache.get(("t", "a")), cache.get(("t", "b"))) == ("a", "b")


def test_outdated_cache_entries_are_removed() -> None:
    now = [0.0]
    cache: ByteLimitedCache[str] = ByteLimitedCache(oldest=60, clock=lambda: now[0])
    cache.put(("t", "a"), "a", 1)
    now[0] = 60
    assert cache.get(("t", "a")) == "a"
    now[0] = 61
    assert cache.get(("t", "a")) is None


def test_pages_of_one_tenant_do_not_make_those_of_another_go() -> None:
    cache: ByteLimitedCache[str] = ByteLimitedCache(most=10)
    cache.put(("b", "mine"), "mine", 4)
    for number in range(20):
        cache.put(("a", f"{number}"), "theirs", 3)
    assert cache.get(("b", "mine")) == "mine"
    assert cache.get(("a", "19")) == "theirs"
    assert cache.get(("a", "17")) is None
