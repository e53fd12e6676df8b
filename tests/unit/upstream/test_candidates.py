from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.translation.dialects.table import DIALECTS
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.candidates import BackendCandidate, Candidates, next_turn, order
from antiphon.upstream.options import BackendOptions
from tests.support.parts import listed

flags = st.booleans()
candidates = st.builds(
    BackendCandidate,
    is_up=flags,
    is_able=flags,
    was_tried=flags,
    fallback=st.integers(0, 2),
    is_full=flags,
    is_warm=flags,
    is_loaded=flags,
    has_free=flags,
    load=st.floats(0, 100),
    turn=st.floats(0, 100),
)
several = st.lists(candidates, max_size=6)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (BackendCandidate(), BackendCandidate(is_up=False)),
        (BackendCandidate(load=9), BackendCandidate(was_tried=True)),
        (BackendCandidate(is_full=True), BackendCandidate(fallback=1)),
        (BackendCandidate(load=9), BackendCandidate(is_warm=True, is_full=True)),
        (BackendCandidate(is_warm=True, is_loaded=False), BackendCandidate()),
        (BackendCandidate(has_free=False, load=9), BackendCandidate(is_loaded=False)),
        (BackendCandidate(load=9), BackendCandidate(has_free=False)),
        (BackendCandidate(load=1, turn=9), BackendCandidate(load=2)),
        (BackendCandidate(turn=1), BackendCandidate(turn=2)),
    ],
    ids=[
        "health",
        "not tried",
        "asked for",
        "no queue",
        "warm",
        "loaded",
        "free slot",
        "least load",
        "whose turn",
    ],
)
def test_one_thing_goes_before_all_that_follow_it(
    better: BackendCandidate, worse: BackendCandidate
) -> None:
    assert order([better, worse])[0] == 0
    assert order([worse, better])[0] == 1


@given(several)
def test_an_unavailable_candidate_is_never_selected(known: list[BackendCandidate]) -> None:
    assert all(known[place].is_able for place in order(known))


@given(several)
def test_ejected_backends_are_called_only_if_no_other_is_left(
    known: list[BackendCandidate],
) -> None:
    ups = {known[place].is_up for place in order(known)}

    assert len(ups) < 2
    assert not (False in ups and any(one.is_up and one.is_able for one in known))


@given(several, candidates)
def test_the_last_candidate_is_never_skipped(
    others: list[BackendCandidate], last: BackendCandidate
) -> None:
    known = [replace(one, was_tried=False) for one in (*others, replace(last, is_able=True))]

    assert order(known)


def test_an_ejected_backend_is_not_called_instead_of_another_that_failed() -> None:
    assert (
        order([BackendCandidate(was_tried=True, is_able=False), BackendCandidate(is_up=False)])
        == []
    )


@given(
    st.permutations(range(4)),
    st.lists(candidates, min_size=4, max_size=4, unique_by=lambda one: one.turn),
)
def test_the_choice_depends_on_the_facts_and_not_on_their_order(
    shuffled: list[int], known: list[BackendCandidate]
) -> None:
    chosen = [known[place] for place in order(known)]
    other = [known[place] for place in shuffled]

    assert [other[place] for place in order(other)] == chosen


def shares(weights: list[float], rounds: int) -> Counter[int]:
    """How often each is asked, one after the other."""
    turns = [0.0] * len(weights)
    requested: Counter[int] = Counter()
    for _ in range(rounds):
        one = order([BackendCandidate(turn=turn) for turn in turns])[0]
        others = [(turns[i], weights[i]) for i in range(len(weights)) if i != one]
        turns[one] = next_turn(turns[one], weights[one], others)
        requested[one] += 1
    return requested


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0]), min_size=2, max_size=4))
def test_equal_backends_are_called_in_proportion_to_their_weight(weights: list[float]) -> None:
    requested = shares(weights, 300)

    assert all(
        abs(requested[i] - 300 * weight / sum(weights)) <= 5 for i, weight in enumerate(weights)
    )


def test_a_candidate_that_was_unavailable_does_not_catch_up() -> None:
    assert next_turn(0.0, 1.0, [(100.0, 1.0), (100.5, 1.0)]) == 100.0


def _state(name: str, accepted: Sequence[str]) -> BackendState:
    return BackendState(
        listed(name), DIALECTS["generic"], BackendOptions(passthrough=frozenset(accepted))
    )


def targets(*accepted: Sequence[str], spare: Sequence[str] | None = None) -> Candidates:
    """Targets of the model m at backends that accept these parameters, and one of its fallback."""
    created = [
        _state(name, own).target("m", "m") for name, own in zip("abc", accepted, strict=False)
    ]
    if spare is not None:
        created.append(_state("s", spare).target("n", "n"))
    return Candidates.of(created)


def places(candidates: Candidates) -> list[str]:
    return [target.state.name for target in candidates]


def test_a_parameter_that_the_api_does_not_have_goes_to_those_that_accept_it() -> None:
    known = targets(["seed", "top_k"], ["seed"], ["seed", "top_k"], spare=["top_k"])

    assert known.taking(["seed", "top_k"]).ranks == [0, 0]
    assert places(known.taking(["seed", "top_k"])) == ["a", "c"]
    assert places(known.taking(["top_k"])) == ["a", "c", "s"]
    assert known.taking(["top_k"]).ranks == [0, 0, 1]
    assert known.taking([]) is known


@pytest.mark.parametrize(("caches", "is_cached"), [([], False), (["b"], True), (["a", "b"], True)])
def test_answers_may_be_cached_if_one_backend_caches_them(
    caches: list[str], is_cached: bool
) -> None:
    states = [
        BackendState(listed(name), DIALECTS["generic"], BackendOptions(cache=name in caches))
        for name in "ab"
    ]

    assert Candidates.of([state.target("m", "m") for state in states]).caches is is_cached


@pytest.mark.parametrize(
    ("accepted", "named"),
    [
        (([], ["seed"], ["top_k"]), "seed"),
        ((["seed"], ["top_k"]), "top_k"),
        ((["seed"], []), "top_k"),
        ((["top_k"], ["top_k"]), "seed"),
        (([], []), "seed"),
        (([],), "seed"),
    ],
    ids=[
        "first of the first",
        "other of the first",
        "by none",
        "first by none",
        "both by none",
        "by the only one",
    ],
)
def test_a_parameter_that_no_backend_of_the_model_accepts_is_named(
    accepted: tuple[list[str], ...], named: str
) -> None:
    """Even where one backend of its fallback accepts all: an answer of that model alone would be
    another.
    """
    with pytest.raises(ClientError) as caught:
        targets(*accepted, spare=["seed", "top_k"]).taking(["seed", "top_k"])

    assert (caught.value.code, caught.value.param) == ("unknown_parameter", named)
