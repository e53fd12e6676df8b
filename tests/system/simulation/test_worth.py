"""The simulation finds faults that are put into the code, each within a stated number of seeds."""

import pytest
from simulation.faults import FAULTS
from simulation.worth import MOST, seeds_until_found

COMMON = "key_not_checked"
"""Found so soon that every run of the system tests can find it again."""


def test_a_fault_in_the_code_is_found() -> None:
    assert seeds_until_found(COMMON, 8) is not None


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mutation", [name for name in FAULTS if name != COMMON])
def test_each_fault_is_found(mutation: str) -> None:
    assert seeds_until_found(mutation, MOST) is not None
