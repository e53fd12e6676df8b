"""Keys of steps: equal in each attempt, and apart where work runs side by side."""

import asyncio

import pytest

from antiphon.agents.keys import LONGEST_KEY, Scope, current, entered, shortened
from tests.support.waiting import let_others_run


def test_a_key_has_the_name_and_how_often_it_was_begun() -> None:
    scope = Scope()

    assert [scope.key("pay"), scope.key("look"), scope.key("pay")] == ["pay/0", "look/0", "pay/1"]


def test_scopes_nest_and_count_their_own_steps() -> None:
    scope = Scope()
    first, second = scope.inner("order"), scope.inner("order")

    assert first.key("pay") == "order/pay/0"
    assert second.key("pay") == "order~1/pay/0"
    assert first.inner("line").key("pay") == "order/line/pay/0"
    assert scope.key("order") == "order/0", "a step and a scope of one name are counted apart"


async def test_work_side_by_side_has_the_same_keys_in_each_order() -> None:
    async def work(name: str, delay: int, keys: list[str]) -> None:
        with entered(current.get().inner(name)):
            for _ in range(delay):
                await let_others_run()
            keys.append(current.get().key("ask"))

    found = []
    for delays in ((0, 3), (3, 0)):
        keys: list[str] = []
        with entered(Scope()):
            await asyncio.gather(work("a", delays[0], keys), work("b", delays[1], keys))
        found.append(sorted(keys))

    assert found[0] == found[1] == ["a/ask/0", "b/ask/0"]


@pytest.mark.parametrize("name", ["what is\nthis?", "a/b", "x" * 65, "\ud800", "é" * 40])
def test_a_name_that_is_long_or_has_slashes_is_shortened_with_a_digest(name: str) -> None:
    short = shortened(name)

    assert short.isprintable()
    assert "/" not in short
    assert len(short.encode()) <= 80
    assert short == shortened(name) != shortened(name + "y")


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match=f"more than {LONGEST_KEY} bytes"):
        Scope().key("x" * LONGEST_KEY)
