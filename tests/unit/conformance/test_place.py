"""Where a verdict was decided, and with which command it can be seen again."""

import shlex

from antiphon_verify.case import Case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import Request
from antiphon_verify.reading import at
from antiphon_verify.replies import Reply, changed, states, streams
from antiphon_verify.report import LONGEST_COMMAND, curl
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial
from tests.unit.conformance.playing import play


def placed(answer: Reply, *paths: tuple[str | int, ...], stream: bool = False) -> str:
    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/responses", {})
        roots = exchange.events if stream else [exchange.json]
        trial.expect("a", not [at(root, *path) for root in roots for path in paths])

    return play(Case("reading", ("a",), script), [answer])["a"].place


def test_the_place_is_the_path_of_the_field_and_what_is_there() -> None:
    assert placed(states({"output": [{"id": None}]}), ("output", 0, "id")) == "output.0.id = null"
    assert placed(states({"output": []}), ("output", 0, "id")) == "output.0.id = nothing"
    assert placed(states({"a": 0}), ("a",)) == "a = 0"


def test_the_place_in_a_stream_has_the_number_and_the_type_of_the_event() -> None:
    events = [{"type": "x", "n": 1}, {"type": "y", "n": 2}]

    assert placed(streams(events), ("n",), stream=True) == "event 1 (x) n = 1; event 2 (y) n = 2"


def test_a_field_that_was_read_for_an_earlier_judgement_is_no_place() -> None:
    def script(trial: Trial) -> Steps:
        exchange = yield from trial.get("/x")
        trial.expect("a", at(exchange.json, "first") == 1)
        trial.expect("b", at(exchange.json, "second") == 1)

    verdicts = play(Case("reading", ("a", "b"), script), [states({"first": 1, "second": 2})])

    assert verdicts["b"].place == "second = 2"


def test_what_must_be_there_and_is_not_is_the_place() -> None:
    def script(trial: Trial) -> Steps:
        trial.found(trial.whole((yield from trial.get("/x"))), "usage", "total")

    assert (
        play(Case("finding", ("a",), script), [states({"usage": {}})])["a"].place
        == "usage.total = nothing"
    )


def test_a_rule_of_the_stream_names_the_event_that_breaks_it() -> None:
    events = changed(STREAMS["answer"], -1, "response", "output", to=[])

    def script(trial: Trial) -> Steps:
        judge_stream(trial, trial.streamed((yield from trial.get("/x"))))

    verdicts = play(Case("judging", STREAM_IDS, script), [streams(events)])
    broken = [verdict.place for verdict in verdicts.values() if verdict.outcome == "failed"]

    assert f"event {len(events)} (response.completed)" in broken


def test_a_request_is_a_command_that_a_shell_parses_correctly() -> None:
    request = Request(
        method="POST", path="/responses?a=b&c", body={"input": "It's $HOME"}, headers={"X-A": "b c"}
    )

    assert shlex.split(curl(request)) == [
        *(
            "curl",
            "-sS",
            "$BASE_URL/responses?a=b&c",
            "-H",
            "authorization: Bearer $OPENAI_API_KEY",
        ),
        *(
            "-H",
            "content-type: application/json",
            "-H",
            "x-a: b c",
            "--data-binary",
            '{"input": "It\'s $HOME"}',
        ),
    ]


def test_other_methods_are_named_and_a_key_of_the_request_stands_for_itself() -> None:
    delete = Request(method="DELETE", path="/x", headers={"authorization": "Bearer wrong"})

    assert curl(delete) == "curl -sS \"$BASE_URL\"/x -X DELETE -H 'authorization: Bearer wrong'"


def test_what_is_no_request_of_http_or_too_long_has_no_command() -> None:
    assert curl(Request(method="WS", path="/responses", body={})) == ""
    assert (
        curl(Request(method="POST", path="/responses", content=b"x" * (LONGEST_COMMAND + 1))) == ""
    )
