"""Chunks are written in parts that cost about the same, whatever their text is."""

from antiphon.search.terms import terms_of
from antiphon.storage.operations.chunk_parts import EACH, MOST_COST, parts_of
from tests.support.cases import each

LIGATURE = "\ufdfa"
"""A letter that has 18 letters in the index, and blanks between them."""

TEXTS = {
    "plain": "A sentence like any other. " * 100,
    "ligatures": LIGATURE * 1000,
    "Chinese": "\u4e2d\u6587" * 400,
    "nothing to find": "- " * 1000,
}


@each("text", TEXTS.values(), ids=TEXTS)
def test_a_part_costs_at_most_its_bound_unless_it_is_one_chunk(text: str) -> None:
    size = len(text.encode())
    rested: list[None] = []
    parts = list(
        parts_of([(number, text, size) for number in range(200)], lambda: rested.append(None))
    )
    assert [number for part in parts for number, _ in part] == list(range(200))
    assert all(list(terms) == terms_of(text) for part in parts for _, terms in part)
    costs = [sum(len(terms) + EACH for _, terms in part) for part in parts]
    assert all(cost <= MOST_COST or len(part) == 1 for part, cost in zip(parts, costs, strict=True))
    assert len(rested) == 200


def test_the_bytes_of_vectors_count_too() -> None:
    small = list(parts_of([(number, "word", 100) for number in range(100)], lambda: None))
    large = list(parts_of([(number, "word", 8_000) for number in range(100)], lambda: None))
    assert len(small) == 1 < len(large)
