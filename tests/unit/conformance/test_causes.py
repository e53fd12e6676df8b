"""One fault in a case is one failed requirement."""

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.areas.responses import conversations, errors, stream
from antiphon_verify.case import Case
from antiphon_verify.causes import with_roots
from antiphon_verify.events.streams import STREAMS, numbered
from antiphon_verify.replies import Replies, error, streams
from antiphon_verify.requirement import Verdict
from antiphon_verify.run import FinishedCase, results
from tests.unit.conformance.playing import play


def failed_by(case: Case, script: Replies) -> tuple[set[str], dict[str, str]]:
    """What fails in a case, and the root of each that is blocked."""
    verdicts = with_roots(play(case, script))
    failed = {name for name, one in verdicts.items() if one.outcome == "failed"}
    return failed, {name: one.root for name, one in verdicts.items() if one.outcome == "blocked"}


def test_a_case_that_cannot_go_on_fails_its_first_must_and_blocks_the_rest() -> None:
    failed, blocked = failed_by(conversations.a_conversation_lives, [error("Boom.", 500)])

    assert failed == {"responses:conversations:created"}
    assert blocked == dict.fromkeys(set(conversations.a_conversation_lives.own) - failed, *failed)


def test_a_case_that_ends_at_what_has_failed_fails_nothing_more() -> None:
    verdicts = {
        "a": Verdict("failed", "one", 3),
        "b": Verdict("failed", "the end", 3, is_end=True),
        "c": Verdict("passed"),
    }

    assert {name: (one.outcome, one.root) for name, one in with_roots(verdicts).items()} == {
        "a": ("failed", ""),
        "b": ("blocked", "a"),
        "c": ("passed", ""),
    }


def test_a_should_that_failed_at_the_end_blocks_no_must() -> None:
    must = "responses:conversations:deleted"
    should = "responses:conversations:deleted-body"
    end = Verdict("failed", "the end", 3, is_end=True)
    found = with_roots({should: Verdict("failed", "one", 3), must: end})

    assert {name: one.outcome for name, one in found.items()} == {should: "failed", must: "failed"}


def test_a_crash_over_a_bad_request_fails_the_rejection_of_this_request_only() -> None:
    case = next(one for one in errors.CASES if one.name == "refused_array")
    failed, blocked = failed_by(case, [error("Boom.", 500)])

    assert failed == {"responses:errors:array"}
    assert blocked == {"responses:errors:never-ours": "responses:errors:array"}


def test_a_crash_over_what_should_be_rejected_is_a_failure_of_its_own() -> None:
    case = next(one for one in errors.CASES if one.name == "refused_lone_surrogate")
    failed, blocked = failed_by(case, [error("Boom.", 500)])

    assert failed == {"responses:errors:lone-surrogate", "responses:errors:never-ours"}
    assert blocked == {}


def test_a_broken_item_in_a_stream_fails_its_first_rule() -> None:
    twice = [
        one
        for one in STREAMS["answer"]
        for _ in range(1 + (one["type"] == "response.output_item.added"))
    ]
    unfinished = [one for one in twice if not one["type"].endswith("_text.done")]
    failed, blocked = failed_by(stream.PLAIN, [streams(numbered(unfinished))])

    assert failed == {"responses:stream:item-added-once"}
    assert blocked["responses:stream:text-done-once"] == "responses:stream:item-added-once"


def test_a_stream_that_ends_in_an_error_fails_once() -> None:
    lost = {"type": "error", "code": None, "message": "Boom.", "param": None}
    failed, blocked = failed_by(stream.PLAIN, [streams(numbered([*STREAMS["answer"][:-1], lost]))])

    assert blocked["responses:stream:error-then-failed"] == "responses:stream:stream-one-terminal"
    assert "responses:stream:error-then-failed" not in failed


CREATED = "responses:conversations:created"
METADATA = "responses:conversations:metadata"


def test_a_root_outside_of_the_selection_is_displayed_as_the_cause() -> None:
    case = conversations.a_conversation_lives
    tried = FinishedCase(case, play(case, [error("Boom.", 500)]), ())
    found = results([REQUIREMENTS[METADATA]], [tried], {})

    assert [(one.id, one.outcome, one.blocked_by) for one in found] == [
        (CREATED, "failed", ""),
        (METADATA, "blocked", CREATED),
    ]


def test_without_its_root_a_requirement_fails_itself() -> None:
    case = next(one for one in errors.CASES if one.name == "refused_array")
    tried = FinishedCase(case, play(case, [error("Boom.", 500)]), ()).without(
        {"responses:errors:array"}
    )
    found = results([REQUIREMENTS["responses:errors:never-ours"]], [tried], {})

    assert [one.outcome for one in found] == ["failed"]
