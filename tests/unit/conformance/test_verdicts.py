"""Verdicts that were false once are right, and so are those on what looks alike."""

import pytest

from antiphon_verify.replies import Replies
from antiphon_verify.requirement import CaseOutcome
from tests.unit.conformance.playing import play
from tests.unit.conformance.verdicts import VERDICTS, Verdicts


@pytest.mark.parametrize("pair", VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_that_was_false_is_right_and_so_is_its_neighbour(pair: Verdicts) -> None:
    def outcome(script: Replies) -> CaseOutcome:
        return play(pair.case, script, pair.traits)[pair.name].outcome

    assert (outcome(pair.once[0]), outcome(pair.neighbour[0])) == (pair.once[1], pair.neighbour[1])
