"""Each fault still changes the code: no refactoring makes one void."""

import pytest
from simulation.changes import code, sql
from simulation.faults import FAULTS


def decides(number: int) -> bool:
    return number > 3


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_can_be_put_into_the_code_and_taken_out(name: str) -> None:
    for _ in range(2):
        undo = FAULTS[name].apply()
        undo()


def test_a_changed_function_changes_for_all_that_know_it_until_it_is_undone() -> None:
    known = decides

    undo = code(decides, "> 3", "> 30")()
    changed = known(4)
    undo()

    assert (changed, known(4)) == (False, True)


def test_a_change_of_what_is_no_longer_there_fails() -> None:
    with pytest.raises(AssertionError):
        code(decides, "number > 5", "True")()
    with pytest.raises(AssertionError):
        sql("claim", "no such text", "")()
