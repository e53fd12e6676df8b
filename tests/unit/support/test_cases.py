"""Many cases in one test."""

import pytest

from tests.support.cases import each

Failed = pytest.fail.Exception
Skipped = pytest.skip.Exception


@each("number", [1, 2, 3, 4], ids=lambda number: f"number {number}")
def evens(number: int) -> None:
    assert number % 2 == 0


def test_every_case_that_fails_is_named_with_its_failure() -> None:
    with pytest.raises(Failed) as reported:
        evens()

    text = str(reported.value)
    assert text.startswith("2 of 4 cases failed:\n----- number 1\n")
    assert "----- number 3" in text
    assert "number 2" not in text
    assert text.count("assert number % 2 == 0") == 2


def test_a_loop_is_one_test_that_needs_none_of_the_arguments() -> None:
    seen = []

    @each(("one", "other"), [(1, 2), pytest.param(3, 4, id="second")])
    def collect(one: int, other: int) -> None:
        seen.append((one, other))

    collect()
    assert seen == [(1, 2), (3, 4)]
    assert collect.cases == 2
    assert collect.__name__ == "collect"


async def test_loops_nest_and_await() -> None:
    seen = []

    @each("one", [1, 2])
    @each("other", ["a", "b"])
    async def collect(one: int, other: str) -> None:
        seen.append((one, other))
        assert (one, other) != (2, "b")

    with pytest.raises(
        Failed, match=r"1 of 2 cases failed:\n----- 2\n1 of 2 cases failed:\n----- 'b'"
    ):
        await collect()
    assert seen == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert collect.cases == 4


def test_pytests_own_failure_is_one_of_them() -> None:
    @each("number", [1, 2])
    def fail(number: int) -> None:
        pytest.fail(f"no {number}")

    with pytest.raises(Failed, match=r"(?s)2 of 2 cases failed.*no 1.*no 2"):
        fail()


def test_a_skipped_case_ends_no_other_and_a_test_without_any_case_that_ran_is_skipped() -> None:
    seen = []

    @each("number", [1, 2])
    def skip_one(number: int) -> None:
        if number == 1:
            pytest.skip("not here")
        seen.append(number)

    @each("number", [1, 2])
    def skip(number: int) -> None:
        pytest.skip("nowhere")

    skip_one()
    assert seen == [2]
    with pytest.raises(Skipped, match="nowhere"):
        skip()
    with pytest.raises(Skipped, match="no cases"):
        each("number", [])(skip)()


def test_a_mark_of_a_case_is_refused() -> None:
    with pytest.raises(TypeError, match="marks"):
        each("number", [pytest.param(1, marks=pytest.mark.wide)])
