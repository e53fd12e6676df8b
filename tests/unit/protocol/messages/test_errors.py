"""Errors of the Messages API: the status, the type and the words by which clients decide what to
do.
"""

from typing import Any

from antiphon.errors import AntiphonError, APITimeoutError, BackendError, ClientError, StoreError
from antiphon.protocol.messages.errors import error_body, event_error, headers_of, status_of
from tests.support.cases import each


def failed(status: int, **fields: Any) -> ClientError:
    return ClientError("Wrong.", status=status, **fields)


@each(
    "error, status, kind",
    [
        (failed(400), 400, "invalid_request_error"),
        (failed(422), 400, "invalid_request_error"),
        (failed(401), 401, "authentication_error"),
        (failed(402), 402, "billing_error"),
        (failed(403), 403, "permission_error"),
        (failed(404), 404, "not_found_error"),
        (failed(409), 409, "conflict_error"),
        (failed(413), 413, "request_too_large"),
        (failed(415), 415, "invalid_request_error"),
        (failed(429), 429, "rate_limit_error"),
        (failed(400, code="model_not_found"), 404, "not_found_error"),
        (AntiphonError("Wrong."), 500, "api_error"),
        (BackendError("Wrong."), 500, "api_error"),
        (BackendError.overloaded("Busy."), 529, "overloaded_error"),
        (StoreError("Wrong."), 529, "overloaded_error"),
        (APITimeoutError(3), 504, "timeout_error"),
    ],
)
def test_an_error_has_a_status_and_a_type(error: AntiphonError, status: int, kind: str) -> None:
    assert status_of(error) == status
    body = error_body(error, "req_1")
    assert (body["type"], body["error"]["type"], body["request_id"]) == ("error", kind, "req_1")


def test_the_code_and_the_parameter_are_details() -> None:
    body = error_body(failed(400, code="invalid_value", param="input[2].content"), "req_1")
    assert body["error"]["details"] == {"error_code": "invalid_value", "param": "input.2.content"}
    assert body["error"]["message"] == "input.2.content: Wrong."
    assert "details" not in error_body(AntiphonError("Wrong."), "req_1")["error"]


def test_a_place_is_that_in_the_request_of_the_client() -> None:
    error = failed(400, param="max_output_tokens")
    assert (
        error_body(error, "req_1", place=lambda param: "max_tokens")["error"]["message"]
        == "max_tokens: Wrong."
    )


def test_a_prompt_that_is_too_long_is_recognised_by_its_words() -> None:
    """Floway#166, ruby_llm#755, crewAI#4619, xum#2400."""
    error = ClientError(
        "The input exceeds the window.", code="context_length_exceeded", param="input"
    )
    known = error_body(error, "req_1", (250_000, 200_000))["error"]["message"]
    assert known == "prompt is too long: 250000 tokens > 200000 maximum"
    for size in (None, (10, 20)):
        assert (
            error_body(error, "req_1", size)["error"]["message"]
            == f"prompt is too long: {error.message}"
        )


def test_a_spent_budget_is_not_tried_again() -> None:
    error = failed(429, code="insufficient_quota", headers={"retry-after": "9000"})
    assert headers_of(error) == {"x-should-retry": "false"}
    assert "spend limit" in error_body(error, "req_1")["error"]["message"]
    assert headers_of(failed(429, headers={"retry-after": "3"})) == {"retry-after": "3"}
    assert headers_of(failed(429)) == {"x-should-retry": "false"}


@each(
    "body, kind",
    [
        ({"message": "Busy.", "code": "server_is_overloaded"}, "overloaded_error"),
        ({"message": "Slow.", "code": "rate_limit_exceeded"}, "rate_limit_error"),
        ({"message": "Wrong.", "code": "server_error", "type": "server_error"}, "api_error"),
        (
            {"message": "Wrong.", "code": None, "type": "invalid_request_error"},
            "invalid_request_error",
        ),
        ({"message": "Long.", "code": "context_length_exceeded"}, "invalid_request_error"),
        ({}, "api_error"),
    ],
)
def test_the_error_of_a_stream_has_a_type(body: dict[str, Any], kind: str) -> None:
    assert event_error(body, "req_1")["error"]["type"] == kind


def test_the_reason_of_the_backend_is_in_the_message() -> None:
    """grok2api#598: "Upstream request failed" helps no client."""
    assert (
        event_error({"message": "The GPU is on fire."}, "req_1")["error"]["message"]
        == "The GPU is on fire."
    )
