import random
import time

import pytest

from antiphon.translation.repetition import RepetitionWatch

LONGEST = 2048


def polls(text: str, cut: int = 100, longest: int = LONGEST) -> bool:
    watch = RepetitionWatch(longest)
    pieces = []
    for start in range(0, len(text), cut):
        pieces.append(text[start : start + cut])
        if watch.is_looping(pieces):
            return True
    return False


@pytest.mark.parametrize(
    "unit", ["a", " ", "\n\t", "Wait, let me check that again. ", "abc" * 40 + "d", "x" * 100 + "y"]
)
@pytest.mark.parametrize("cut", [1, 7, 100, 5000])
def test_a_stretch_that_comes_again_and_again_is_a_loop(unit: str, cut: int) -> None:
    assert polls("It begins well. " + unit * (2 * LONGEST // len(unit)), cut)


def test_prose_code_and_lists_are_not_calls() -> None:
    generator = random.Random(1)
    words = ["the", "tide", "rises", "at", "dawn", "and", "falls", "by", "noon"]
    assert not polls(" ".join(generator.choices(words, k=5000)))
    assert not polls(
        "\n".join(
            f"def test_{number}() -> None:\n    assert f({number}) == {number}"
            for number in range(300)
        )
    )
    assert not polls("| 0 | 0 | 0 |\n" * 100)


def test_a_too_long_span_is_ignored() -> None:
    unit = "".join(random.Random(2).choices("abcdefgh", k=LONGEST // 4))
    assert not polls(unit * 20)


def test_another_text_restarts_the_count() -> None:
    watch = RepetitionWatch(LONGEST)
    half = ["a" * (LONGEST // 2)]
    assert not watch.is_looping(half)
    assert not watch.is_looping(["a" * (LONGEST // 2)])


def test_it_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        text = "".join(random.Random(3).choices("ab", k=size))
        began = time.thread_time()
        polls(text, 2000, 8192)
        return time.thread_time() - began

    assert seconds(800_000) < 40 * seconds(100_000) + 0.5
