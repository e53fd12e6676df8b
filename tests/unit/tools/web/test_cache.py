"""Pages that were read lately."""

from antiphon.tools.web.pages import Cache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache: Cache[str] = Cache(most=10)
    for name in "abc":
        cache.put(name, name, 4)
        cache.get("a")
    assert [cache.get(name) for name in "abc"] == ["a", None, "c"]


def test_what_is_larger_than_everything_is_not_kept() -> None:
    cache: Cache[str] = Cache(most=10)
    cache.put("a", "a", 11)
    assert cache.get("a") is None
    cache.put("b", "b", 10)
    assert cache.get("b") == "b"


def test_what_is_put_again_counts_once() -> None:
    cache: Cache[str] = Cache(most=10)
    for _ in range(5):
        cache.put("a", "a", 6)
    cache.put("b", "b", 4)
    assert (cache.get("a"), cache.get("b")) == ("a", "b")


def test_what_is_too_old_is_gone() -> None:
    now = [0.0]
    cache: Cache[str] = Cache(oldest=60, clock=lambda: now[0])
    cache.put("a", "a", 1)
    now[0] = 60
    assert cache.get("a") == "a"
    now[0] = 61
    assert cache.get("a") is None
