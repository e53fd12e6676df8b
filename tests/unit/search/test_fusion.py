"""Ranked lists become one."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.fusion import K, above, best_of, fuse
from tests.support.chance import examples

members = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(st.lists(st.tuples(st.floats(0.01, 10), members), min_size=1, max_size=4))
@examples(200)
def test_fused_scores_are_those_of_the_formula_and_lie_between_0_and_1(
    lists: list[tuple[float, list[int]]],
) -> None:
    fused = fuse(lists)
    best = sum(weight for weight, _ in lists) / (K + 1)

    assert set(fused) == {member for _, one in lists for member in one}
    assert list(fused.values()) == sorted(fused.values(), reverse=True)
    for member, score in fused.items():
        parts = [weight / (K + 1 + one.index(member)) for weight, one in lists if member in one]
        assert abs(score - sum(parts) / best) < 1e-9
        assert 0 < score <= 1 + 1e-9


def test_what_leads_every_list_has_the_score_of_1() -> None:
    assert next(iter(fuse([(1, "ab"), (3, "ac")]).items())) == ("a", 1.0)


def test_a_weight_of_0_ignores_a_list() -> None:
    assert list(fuse([(0, "ab"), (1, "ba")])) == ["b", "a"]


def test_of_several_searches_the_best_score_counts() -> None:
    assert best_of([{"a": 0.5, "b": 0.25}, {"b": 0.75}]) == {"b": 0.75, "a": 0.5}


def test_a_threshold_keeps_what_reaches_it() -> None:
    assert above({"a": 0.5, "b": 0.25}, 0.5) == {"a": 0.5}
