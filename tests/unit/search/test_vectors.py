"""Vectors and their signatures."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.vectors import (
    CANDIDATES,
    candidates,
    compared,
    cosines,
    floats,
    integers,
    signature,
    signature_size,
    unit,
)
from tests.support.chance import examples

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).filter(
    lambda one: math.hypot(*one) > 1e-3
)


@given(numbers)
@examples(100)
def test_a_vector_has_the_length_of_1_and_keeps_its_direction(provided: list[float]) -> None:
    vector = unit(provided)
    assert vector is not None and len(vector) == 2 * len(provided)
    assert math.hypot(*floats(vector)) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("provided", [[0.0, 0.0], [math.inf, 1.0], [math.nan]])
def test_numbers_without_a_direction_make_no_vector(provided: list[float]) -> None:
    assert unit(provided) is None


@given(numbers)
@examples(100)
def test_a_signature_has_the_sign_of_each_number(provided: list[float]) -> None:
    vector = unit(provided)
    assert vector is not None
    bits = signature(vector)
    signs = "".join("1" if math.copysign(1, number) < 0 else "0" for number in floats(vector))

    assert len(bits) == signature_size(len(provided))
    assert int.from_bytes(bits, "big") == int(signs, 2)
    assert integers(bits * 3, 3) == [int(signs, 2)] * 3


@given(st.lists(st.integers(0, 255), max_size=40), st.integers(0, 255), st.integers(1, 45))
@examples(200)
def test_the_candidates_are_the_nearest_signatures(
    signatures: list[int], wanted: int, most: int
) -> None:
    found = candidates(range(len(signatures)), signatures, wanted, most)
    distances = [(one ^ wanted).bit_count() for one in signatures]

    assert sorted(distances[number] for number in found) == sorted(distances)[:most]
    assert len(set(found)) == len(found)


def test_cosines_are_sorted_and_never_below_0() -> None:
    vectors = {
        number: unit(one) or b""
        for number, one in enumerate(([1.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [1.0]))
    }
    found = cosines(vectors, unit([2.0, 0.0]) or b"")

    assert [number for number, _ in found] == [1, 0, 2]
    assert [score for _, score in found] == pytest.approx([1, math.sqrt(0.5), 0], abs=0.001)


@pytest.mark.wide
@pytest.mark.parametrize("count", [1000, 4000])
def test_the_nearest_vectors_are_among_the_candidates(count: int) -> None:
    chance = random.Random(7)
    centres = [[chance.gauss(0, 1) for _ in range(128)] for _ in range(count // 4)]
    created = [
        unit([number + chance.gauss(0, 0.9) for number in chance.choice(centres)]) or b""
        for _ in range(count)
    ]
    signed = [int.from_bytes(signature(one), "big") for one in created]
    found = missed = 0
    for query in created[:20]:
        exact = {number for number, _ in cosines(dict(enumerate(created)), query)[:10]}
        most = compared(count, 128)
        near = set(
            candidates(range(len(created)), signed, int.from_bytes(signature(query), "big"), most)
        )
        found = found + len(exact & near)
        missed = missed + len(exact - near)

    assert found / (found + missed) >= 0.98


@pytest.mark.parametrize(
    ("chunks", "dimensions", "most"),
    [(5_000, 384, 1302), (5_000, 3072, CANDIDATES), (100_000, 384, CANDIDATES)],
)
def test_more_candidates_of_a_small_store_are_compared(
    chunks: int, dimensions: int, most: int
) -> None:
    assert compared(chunks, dimensions) == most
