"""The readers that `make fuzz` fuzzes, with the inputs that it begins with."""

import pytest

from tests.fuzz.all_targets import TARGETS
from tests.support.cases import each


@pytest.mark.wide
@each("name", TARGETS)
def test_a_reader_is_right_about_what_fuzzing_begins_with(name: str) -> None:
    target = TARGETS[name]

    for seed in target.seeds:
        target.check(seed)
        for place in range(0, len(seed), max(1, len(seed) // 40)):
            target.check(seed[:place])
            target.check(seed[:place] + b"\xff" + seed[place + 1 :])
