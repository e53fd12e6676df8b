"""The journal decides what a handler finds, and what is written."""

import pytest

from antiphon.agents.errors import AgentError
from antiphon.agents.journal import (
    BEGIN,
    NO_INPUT,
    REQUESTED,
    SAVED,
    STATE,
    InheritedStep,
    Journal,
)
from antiphon.agents.results import digest_of
from antiphon.jobs.parts import AgentLimits
from antiphon.storage.records.steps import REQUEST, Step, StepState, size_of

DIGEST = digest_of({"argument 1": 1})


def put(journal: Journal, key: str, state: StepState = StepState.DONE, body: bytes = b"1") -> Step:
    return journal.put(key, DIGEST, state, body, 10, 20)


def test_a_step_is_found_by_its_key_and_its_input() -> None:
    journal = Journal([], 1, "7")
    step = put(journal, "pay/0")

    assert journal.find("pay/0", DIGEST) == step
    assert journal.find("pay/1", DIGEST) is None


def test_another_input_under_the_same_key_is_an_error_with_the_cures() -> None:
    journal = Journal([], 1, "7")
    put(journal, "pay/0")

    with pytest.raises(AgentError) as caught:
        journal.find("pay/0", digest_of({"argument 1": 2}))
    assert caught.value.code == "agent_changed"
    for named in ("pay/0", "argument 1", "ctx.now()", "ctx.scope", "volatile"):
        assert named in caught.value.message


def test_a_later_state_replaces_an_earlier_one_in_its_place() -> None:
    journal = Journal([], 1, "7")
    begun = put(journal, "pay/0", StepState.BEGUN, b"")
    put(journal, "look/0")
    assert [one.step for one in journal.writes(["pay/0"])] == [begun]
    done = journal.put("pay/0", DIGEST, StepState.DONE, b"12345", 10, 30)
    (written,) = journal.writes(["pay/0"])

    assert (begun.place, begun.ended) == (0, None)
    assert (done.place, done.began, done.ended) == (0, 10, 30)
    assert (written.step, written.replaces, written.growth) == (done, size_of(begun), 5)


def test_a_write_has_the_newest_state_of_each_step_once() -> None:
    journal = Journal([], 1, "7")
    put(journal, "pay/0", StepState.BEGUN, b"1234")
    put(journal, "pay/0", StepState.DONE, b"12")

    written = journal.writes(["pay/0", "pay/0"])

    assert [(one.step.body, one.growth) for one in written] == [(b"12", len("pay/0") + 2)]
    assert [one.growth for one in journal.writes(["pay/0"])] == [0]


def test_a_later_attempt_continues_after_the_last_place() -> None:
    first = Journal([], 1, "7")
    steps = [put(first, "a/0"), put(first, "b/0")]
    second = Journal(steps, 2, "8")
    added = put(second, "c/0")

    assert (added.place, added.attempt, added.version) == (2, 2, "8")


def test_the_first_attempt_notes_the_version_and_the_time() -> None:
    first = Journal([], 1, "7")
    begun = first.begin(1_000)
    assert begun is not None
    second = Journal([begun], 2, "8")

    assert second.begin(2_000) is None
    assert (second.began, second.started_version) == (1_000, "7")
    assert Journal([], 1, "9").started_version == "9"


def test_the_saved_state_has_a_place_of_its_own_and_is_no_step_of_the_handler() -> None:
    journal = Journal([], 1, "7")
    saved = journal.put(SAVED, NO_INPUT, StepState.DONE, b"{}", 1, 1)

    step = put(journal, "a/0")

    assert (saved.place, step.place) == (STATE, 0)
    assert Journal([saved, step], 2, "7").unused() == ["a/0"]


def test_steps_that_the_handler_did_not_request_are_listed_in_their_order() -> None:
    first = Journal([], 1, "7")
    steps = [put(first, name) for name in ("a/0", "b/0", "c/0")]
    second = Journal(steps, 2, "7")
    second.find("b/0", DIGEST)

    assert second.unused() == ["a/0", "c/0"]


def test_too_many_steps_and_a_journal_that_is_too_large_are_errors() -> None:
    journal = Journal([], 1, "7", limits=AgentLimits(steps=1, journal_bytes=5))
    put(journal, "a/0")
    with pytest.raises(AgentError) as caught:
        put(journal, "b/0")
    assert caught.value.code == "too_many_steps"

    with pytest.raises(AgentError) as caught:
        put(journal, "a/0", StepState.DONE, b"123")
    assert caught.value.code == "journal_too_large"


def test_a_step_that_was_read_without_its_body_is_completed() -> None:
    partial = Step(0, "a/0", StepState.BEGUN, DIGEST, b"", 1, None, 1, "7", is_partial=True)
    whole = Step(0, "a/0", StepState.BEGUN, DIGEST, b"x" * 100, 1, None, 1, "7")
    journal = Journal([partial], 2, "7")
    journal.restore(whole)

    journal.put("a/0", DIGEST, StepState.DONE, b"", 1, 2)
    assert journal.writes(["a/0"])[0].replaces == size_of(whole)


def inherited(*steps: Step) -> dict[str, InheritedStep]:
    return {step.key: InheritedStep(step, "resp_1") for step in steps}


def test_a_later_response_finds_the_steps_of_earlier_ones_below_its_own() -> None:
    first = Journal([], 1, "7")
    begun = first.begin(1_000)
    assert begun is not None
    steps = [begun, put(first, "a/0", body=b"1"), put(first, "b/0", body=b"1")]
    second = Journal([], 1, "8", inherited(*steps))
    own = put(second, "b/0", body=b"2")
    found = second.find("a/0", DIGEST)

    assert found == steps[1]
    assert second.find("b/0", DIGEST) == own
    assert [second.owner_of(step) for step in (found, own)] == ["resp_1", ""]
    assert own.place == 0, "places begin again"
    with pytest.raises(AgentError, match="a/0"):
        second.find("a/0", digest_of({"argument 1": 2}))


def test_a_run_keeps_its_first_version_and_each_response_has_its_own_time() -> None:
    first = Journal([], 1, "7")
    begun = first.begin(1_000)
    assert begun is not None
    second = Journal([], 1, "8", inherited(begun))

    assert (second.started_version, second.began, second.is_continued) == ("7", None, True)
    own = second.begin(5_000)
    assert own is not None
    assert (own.key, second.began, second.started_version) == (BEGIN, 5_000, "7")
    assert not first.is_continued


def test_the_limits_are_those_of_a_whole_run() -> None:
    steps = [put(Journal([], 1, "7"), name) for name in ("a/0", "b/0")]
    with pytest.raises(AgentError) as caught:
        put(Journal([], 1, "7", inherited(*steps), AgentLimits(steps=2)), "c/0")
    assert caught.value.code == "too_many_steps"

    with pytest.raises(AgentError) as caught:
        put(Journal([], 1, "7", inherited(*steps), AgentLimits(journal_bytes=10)), "c/0")
    assert caught.value.code == "journal_too_large"


def test_an_inherited_step_without_its_body_is_completed() -> None:
    partial = Step(0, "a/0", StepState.DONE, DIGEST, b"", 1, 2, 1, "7", is_partial=True)
    whole = Step(0, "a/0", StepState.DONE, DIGEST, b"x" * 100, 1, 2, 1, "7")
    journal = Journal([], 1, "7", inherited(partial))
    journal.restore(whole)

    assert journal.find("a/0", DIGEST) == whole
    assert journal.owner_of(whole) == "resp_1"


def test_the_request_of_a_run_has_a_place_of_its_own() -> None:
    journal = Journal([], 1, "7")

    assert journal.put(REQUESTED, NO_INPUT, StepState.DONE, b"{}", 1, 1).place == REQUEST
    assert put(journal, "a/0").place == 0
