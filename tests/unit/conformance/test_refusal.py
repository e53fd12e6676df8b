"""What a server says that it lacks, and what it does wrong."""

import pytest

from antiphon.conformance.exchange import Exchange, Request
from antiphon.conformance.refusal import absence
from tests.unit.conformance.exchanges import Answer, error, says

PATH = "/responses/resp_0123456789abcdef01234567"

LACKS: dict[str, Answer] = {
    "no such path": Answer(404, b"404 page not found"),
    "no such path, in words": error(f"Unknown request URL: GET /v1{PATH}", 404, "unknown_url"),
    "no such path, FastAPI": says({"detail": "Not Found"}, 404),
    "no such method": says({"detail": "Method Not Allowed"}, 405),
    "not implemented": error("later", 501),
    "no WebSocket": error("use HTTP", 426),
    "a code": error("no", 400, "unsupported_parameter", "background"),
    "an unknown parameter": error("Unknown parameter: 'conversation'.", 400, "unknown_parameter"),
    "vLLM": says({"message": "tool_choice 'x' is not supported"}, 400),
    "FastAPI": says({"detail": "Extra inputs are not permitted"}, 422),
    "a Go server": says({"error": 'json: unknown field "stream_options"'}, 400),
    "llama.cpp": error("Unsupported param: n", 500),
}

WRONG: dict[str, Answer] = {
    "a success": says({}),
    "no answer": Answer(0, fault="cut"),
    "a thing not found": error("Response with id 'x' not found.", 404),
    "a thing not found, by its id": error("No such thing: resp_0123456789abcdef01234567", 404),
    "no such model": error("model 'x' not found, try pulling it first", 404),
    "a bad value": error("Invalid value: 'x'.", 400, "invalid_value"),
    "a failure": error("The server had an error.", 500),
    "an odd code": says({"error": {"code": [], "message": {}}}, 400),
}


@pytest.mark.parametrize("answer", LACKS.values(), ids=LACKS)
def test_what_a_server_says_that_it_lacks_is_told_in_its_words(answer: Answer) -> None:
    lack = absence(answer.to(Request(method="GET", path=PATH)))

    assert lack is not None
    assert lack.startswith(f"status {answer.status}")


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_no_lack(answer: Answer) -> None:
    assert absence(answer.to(Request(method="GET", path=PATH))) is None


def test_nothing_asked_is_no_lack() -> None:
    assert absence(Exchange(Request(method="POST", path="/responses"))) is None
