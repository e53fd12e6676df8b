"""Cases under way: what they judge, and how they end."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from antiphon_verify.areas.responses import models
from antiphon_verify.case import Case, CaseRun, case, cases_of
from antiphon_verify.exchange import Request
from antiphon_verify.replies import Reply, error, states
from antiphon_verify.requirement import Stop, Verdict, weightiest
from antiphon_verify.trial import MAX_TOKENS, Steps, Trial
from tests.unit.conformance.playing import play


def judging(judge: Callable[[Trial], None]) -> Case:
    def script(trial: Trial) -> Steps:
        """Ask for the models."""
        yield from trial.get("/models")
        judge(trial)

    return Case("a case", ("a", "b"), script)


def test_a_case_describes_what_it_does() -> None:
    assert judging(lambda trial: None).sentence == "Ask for the models."


def test_what_is_expected_and_holds_is_passed_and_the_rest_is_skipped() -> None:
    verdicts = play(judging(lambda trial: trial.expect("a", True)), [states({})])

    assert verdicts["a"] == Verdict("passed")
    assert verdicts["b"].outcome == "skipped"


def test_a_violation_is_permanent_and_its_first_instance_is_reported() -> None:
    def judge(trial: Trial) -> None:
        for holds, came in ((True, "good"), (False, {"came": 1}), (False, "worse"), (True, "good")):
            trial.expect("a", holds, came)

    assert play(judging(judge), [states({})])["a"] == Verdict("failed", '{"came": 1}', 1)


def test_a_reason_to_skip_weighs_less_than_a_finding() -> None:
    def judge(trial: Trial) -> None:
        trial.skip("a", "no call was made")
        trial.skip("b", "no call was made")
        trial.expect("b", True)

    verdicts = play(judging(judge), [states({})])

    assert (verdicts["a"].came, verdicts["b"].outcome) == ("no call was made", "passed")


def test_a_case_judges_only_what_it_names() -> None:
    with pytest.raises(LookupError, match="c is not one"):
        play(judging(lambda trial: trial.expect("c", True)), [states({})])


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (states([]), "failed"),
        (Reply(200, b"<html>"), "failed"),
        (Reply(200, b"{}", fault="cut"), "failed"),
        (Reply(302), "failed"),
        (error("boom", 500), "failed"),
        (error("no", 400, "unsupported_parameter"), "failed"),
        (Reply(405), "not offered"),
    ],
)
def test_an_answer_that_is_no_object_ends_the_case(answer: Reply, outcome: str) -> None:
    def judge(trial: Trial) -> None:
        trial.expect("a", True)
        trial.whole(trial.exchanges[-1])
        trial.expect("b", True)

    verdicts = play(judging(judge), [answer])

    assert (verdicts["a"].outcome, verdicts["b"].outcome) == ("passed", outcome)
    assert verdicts["b"].came
    assert verdicts["b"].seen == 1


@pytest.mark.parametrize(
    "body", [b"", b"data: [DONE]\n\n", b"data: 1\n\n", b"data: {\n\n", b'data: {}\n\ndata: {"\n\n']
)
def test_a_stream_is_of_objects(body: bytes) -> None:
    verdicts = play(
        judging(lambda trial: trial.streamed(trial.exchanges[-1]) and None), [Reply(200, body)]
    )

    assert verdicts["a"].outcome == "failed"


def test_what_must_be_there_ends_the_case_where_it_is_not() -> None:
    verdicts = play(
        judging(lambda trial: trial.found(trial.exchanges[-1].json, "x", 0)), [states({"x": []})]
    )

    assert verdicts["a"].came == "The response has no x.0."


def test_a_case_sends_no_requests_after_its_end() -> None:
    playing = CaseRun(judging(lambda trial: None), "m")
    playing.begin()
    playing.end(Verdict("failed", "why"))

    assert playing.step is None
    assert playing.trial.verdicts == dict.fromkeys("ab", Verdict("failed", "why", is_end=True))


def test_requests_name_the_model_and_bound_the_answer() -> None:
    playing = CaseRun(case("a")(lambda trial: trial.respond("Hi", store=False)), "m")
    playing.begin()

    assert isinstance(playing.step, Request)
    assert playing.step.body == {
        "model": "m",
        "input": "Hi",
        "max_output_tokens": MAX_TOKENS,
        "store": False,
    }


def test_cases_are_found_alone_and_in_tuples() -> None:
    class Module:
        alone = judging(lambda trial: None)
        several = (alone, models.models_are_listed)
        other = 1

    assert cases_of(Module) == (Module.alone, models.models_are_listed)  # type: ignore[arg-type]


def test_the_weightiest_verdict_stands() -> None:
    outcomes = ["not offered", "skipped", "passed", "failed"]
    verdicts = [Verdict(outcome) for outcome in outcomes]  # type: ignore[arg-type]

    assert [weightiest(verdicts[: most + 1]).outcome for most in range(4)] == outcomes
    assert weightiest([Stop("failed", "one").verdict, Verdict("failed", "two")]).came == "one"


@pytest.mark.parametrize(
    ("status", "own", "aside"), [(500, "failed", "skipped"), (501, "not offered", "not offered")]
)
def test_what_a_case_judges_by_the_way_stays_unjudged_where_it_ends_before(
    status: int, own: str, aside: str
) -> None:
    case = replace(
        judging(lambda trial: trial.whole(trial.exchanges[-1]) and None),
        rows=("a",),
        passing=("b",),
    )
    verdicts = play(case, [error("boom", status)])

    assert (verdicts["a"].outcome, verdicts["b"].outcome) == (own, aside)
