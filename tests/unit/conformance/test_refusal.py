"""What a server says that it lacks, and what it does wrong: by status, code and param, and by a
simpler request.
"""

from typing import Any

import pytest

from antiphon_verify.case import Case, CaseRun
from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.refusal import path_absence
from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import CALL, RESPONSE
from antiphon_verify.trial import Steps, Traits, Trial
from tests.unit.conformance.playing import play

PATH = "/responses/resp_0123456789abcdef01234567"

ABSENT: dict[str, Reply] = {
    "no such path": Reply(404, b"404 page not found"),
    "no such path, in words": error(f"Unknown request URL: GET /v1{PATH}", 404, "unknown_url"),
    "no such path, FastAPI": states({"detail": "Not Found"}, 404),
    "no such method": states({"detail": "Method Not Allowed"}, 405),
    "not implemented": error("later", 501),
    "no WebSocket": error("use HTTP", 426),
}

SUPPORTED: dict[str, Reply] = {
    "a success": states({}),
    "no answer": Reply(0, fault="cut"),
    "a thing not found": error("Response with id 'x' not found.", 404),
    "a thing not found, by its id": error("No such thing: resp_0123456789abcdef01234567", 404),
    "a store not found": error(
        "No vector store found with id 'vs_x'.", 404, param="vector_store_id"
    ),
    "no such file": error("No such File object: file-x", 404, param="id"),
    "no such model": error("model 'x' not found, try pulling it first", 404),
    "a model that no worker has": states(
        {"error": {"message": "No worker for 'x'", "type": "model_not_found"}}, 404
    ),
    "a bad value": error("Invalid value: 'x'.", 400, "invalid_value"),
    "a failure": error("The server had an error.", 500),
}


@pytest.mark.parametrize("answer", ABSENT.values(), ids=ABSENT)
def test_a_missing_path_is_reported_by_the_status(answer: Reply) -> None:
    assert path_absence(answer.to(Request(method="GET", path=PATH))) == f"status {answer.status}"


@pytest.mark.parametrize("answer", SUPPORTED.values(), ids=SUPPORTED)
def test_what_is_wrong_is_no_missing_path(answer: Reply) -> None:
    assert path_absence(answer.to(Request(method="GET", path=PATH))) is None


GOOD = states(RESPONSE)

TOOLS: dict[str, Any] = {"tools": [{"type": "custom", "name": "x"}], "priority_hint": 1}


def sending(input: Any = "Hi", **parameters: Any) -> Case:
    def script(trial: Trial) -> Steps:
        trial.response((yield from trial.respond(input, **parameters)))
        trial.expect("a", True)

    return Case("sending", ("a",), script)


REFUSALS: dict[str, Reply] = {
    "by a code": error("no", 400, "unsupported_parameter", "tools"),
    "by a path into it": error("no", 400, "invalid_value", "tools[0].type"),
    "that it is disabled": error("image input is disabled; rebuild with mmproj"),
    "what it must be": error("require_approval must be set to 'never'"),
    "by serde": states(
        {"error": {"message": "unknown variant `custom`, expected `function`"}}, 422
    ),
    "by FastAPI": states(
        {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}, 422
    ),
    "by Go": states({"error": 'json: unknown field "tools"'}, 400),
    "as forbidden": error("custom tools need another plan", 403),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
def test_a_feature_is_lacking_if_the_request_is_taken_without_it_whatever_the_words(
    answer: Reply,
) -> None:
    verdict = play(sending(**TOOLS), [answer, GOOD])["a"]

    assert verdict.outcome == "not offered"
    assert verdict.came.startswith(f"status {answer.status}")


BROKEN: dict[str, tuple[Case, list[Reply]]] = {
    "a parameter that the gateway added": (
        sending(**TOOLS),
        [error("no", 400, "unknown_parameter", "top_k"), GOOD],
    ),
    "a minimal request": (
        sending(),
        [error("Unknown parameter: 'priority'", 400, "unknown_parameter", "priority")],
    ),
    "a minimal request, by its input": (
        sending(),
        [error("no", 400, "unsupported_value", "input")],
    ),
    "everything": (sending(**TOOLS), [error("no", 400, "unsupported_parameter", "tools")] * 2),
    "by a crash": (sending(**TOOLS), [error("tools is not supported", 500), GOOD]),
    "plain parts": (
        sending([{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]),
        [error("content is not supported", 400)],
    ),
    "as a path that is not there": (sending(**TOOLS), [Reply(404), GOOD]),
    "null, which is as good as nothing": (
        sending(user=None),
        [error("expected a string, got null", 422), GOOD],
    ),
    "the input, for a tool": (sending(**TOOLS), [error("no", 400, None, "input"), GOOD]),
}


@pytest.mark.parametrize(("case", "script"), BROKEN.values(), ids=BROKEN)
def test_a_refusal_of_anything_else_is_a_failure(case: Case, script: list[Reply]) -> None:
    assert play(case, script)["a"].outcome == "failed"


def test_an_unknown_item_is_lacking_and_one_that_the_server_sent_itself_is_not() -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "sun"}

    def unknown(trial: Trial) -> Steps:
        trial.response((yield from trial.respond([output])))

    def own(trial: Trial) -> Steps:
        called = trial.response((yield from trial.respond("Hi")))
        trial.response((yield from trial.respond([*called["output"], output])))

    refused = error("unknown variant `function_call_output`", 422)
    called = GOOD.patched("output", to=[CALL])

    assert play(Case("unknown", ("a",), unknown), [refused, GOOD])["a"].outcome == "not offered"
    assert play(Case("own", ("a",), own), [called, refused, GOOD])["a"].outcome == "failed"


def test_a_parameter_that_was_taken_before_is_not_lacking_afterwards() -> None:
    def twice(trial: Trial) -> Steps:
        trial.response((yield from trial.respond("Hi", **TOOLS)))
        trial.response((yield from trial.respond("Hi", **TOOLS)))

    verdict = play(Case("twice", ("a",), twice), [GOOD, error("no", 400, None, "tools"), GOOD])["a"]

    assert verdict.outcome == "failed"


def test_a_query_is_lacking_if_the_path_works_without_it() -> None:
    def listing(trial: Trial) -> Steps:
        trial.whole((yield from trial.get("/models?after=x")))

    verdict = play(
        Case("listing", ("a",), listing), [error("unknown query", 400), states({"data": []})]
    )["a"]

    assert verdict.outcome == "not offered"


LOST = states({"error": "Unexpected endpoint or method. (POST /conversations)"})


@pytest.mark.parametrize(
    ("traits", "outcome"),
    [
        (Traits(unknown_path_error="Unexpected endpoint or method. (POST )"), "not offered"),
        (Traits(), "failed"),
    ],
)
def test_an_error_behind_a_200_is_a_missing_path_only_where_an_invented_path_gets_it_too(
    traits: Traits, outcome: str
) -> None:
    def create(trial: Trial) -> Steps:
        created = trial.whole((yield from trial.post("/conversations", {})))
        trial.expect("a", "id" in created, created)

    playing = CaseRun(Case("create", ("a",), create), "m", traits)
    playing.begin()
    assert isinstance(playing.step, Request)
    playing.answer(LOST.to(playing.step))

    assert playing.trial.verdicts["a"].outcome == outcome


def test_an_exchange_without_an_answer_does_not_show_a_missing_path() -> None:
    assert path_absence(Exchange(Request(method="POST", path="/responses"))) is None
