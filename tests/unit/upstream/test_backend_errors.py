import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.upstream.backend_errors import is_overflow, overloaded, read_failure, stated_size
from antiphon.upstream.identity import BackendIdentity
from antiphon.upstream.retry_policy import rejected

GPU = BackendIdentity("gpu-a:8000", "http://gpu-a:8000/v1", "gpu-a")


def failure(status: int, body: Any = None, **headers: str) -> AntiphonError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_failure(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, raw, "m", GPU
    )


def envelope(message: str = "no", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "x", "param": None, "code": None} | fields}


TABLE: dict[str, tuple[int, Any, tuple[int, str, str | None, str | None]]] = {
    "its key is refused": (401, envelope(), (502, "server_error", "server_error", None)),
    "it is forbidden": (403, envelope(), (502, "server_error", "server_error", None)),
    "Z.ai has no credit left": (
        429,
        {
            "error": {
                "code": "1113",
                "message": "Insufficient balance or no resource package. Please recharge.",
            }
        },
        (429, "insufficient_quota", "insufficient_quota", None),
    ),
    "MiniMax has no credit left": (
        400,
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        (429, "insufficient_quota", "insufficient_quota", None),
    ),
    "Alibaba has no credit left": (
        403,
        {
            "code": "Arrearage",
            "message": "Access denied, please make sure your account is in good standing.",
        },
        (429, "insufficient_quota", "insufficient_quota", None),
    ),
    "it wants to be paid": (
        402,
        envelope(),
        (429, "insufficient_quota", "insufficient_quota", None),
    ),
    "it cannot pay for so long an answer": (
        402,
        envelope(
            "This request requires more credits, or fewer max_tokens. You can only afford 53.",
            code=402,
        ),
        (400, "invalid_request_error", None, "max_output_tokens"),
    ),
    "the model is not for this key": (
        403,
        envelope("Project has no access to it.", code="model_not_found"),
        (400, "invalid_request_error", "model_not_found", "model"),
    ),
    "the quota is used up": (
        429,
        envelope(code="insufficient_quota"),
        (429, "insufficient_quota", "insufficient_quota", None),
    ),
    "too many requests": (429, envelope(), (429, "requests", "rate_limit_exceeded", None)),
    "too long, OpenAI": (
        400,
        envelope(code="context_length_exceeded"),
        (400, "invalid_request_error", "context_length_exceeded", "input"),
    ),
    "too long, llama.cpp": (
        400,
        envelope("the request exceeds the available context size"),
        (400, "invalid_request_error", "context_length_exceeded", "input"),
    ),
    "too long, as 413": (
        413,
        envelope("prompt is too long"),
        (400, "invalid_request_error", "context_length_exceeded", "input"),
    ),
    "the model is gone": (
        404,
        envelope("model 'm' not found"),
        (400, "invalid_request_error", "model_not_found", "model"),
    ),
    "a 404 of an endpoint": (
        404,
        envelope("m does not serve '/embeddings'.", code="unknown_url"),
        (400, "invalid_request_error", "unknown_url", None),
    ),
    "another 404": (404, envelope("no such route"), (400, "invalid_request_error", None, None)),
    "a bad parameter": (
        400,
        envelope(param="max_tokens", code="invalid_value"),
        (400, "invalid_request_error", "invalid_value", "max_output_tokens"),
    ),
    "a bad message": (
        400,
        envelope(param="messages[3].content"),
        (400, "invalid_request_error", None, "input"),
    ),
    "a parameter of its own": (
        400,
        envelope(param="min_p"),
        (400, "invalid_request_error", None, None),
    ),
    "FastAPI's 422": (
        422,
        {"detail": [{"msg": "bad"}]},
        (400, "invalid_request_error", None, None),
    ),
    "a large body": (413, b"<html>", (413, "invalid_request_error", None, None)),
    "an empty 400": (400, b"", (400, "invalid_request_error", None, None)),
    "overloaded": (503, b"busy", (503, "service_unavailable_error", "server_is_overloaded", None)),
    "overloaded, Anthropic": (
        529,
        b"",
        (503, "service_unavailable_error", "server_is_overloaded", None),
    ),
    "a crash": (
        500,
        envelope("Traceback (most recent call last)"),
        (502, "server_error", "server_error", None),
    ),
    "images without a projector, llama.cpp": (
        500,
        {
            "error": {
                "code": 500,
                "message": "image input is not supported - hint: mmproj",
                "type": "server_error",
            }
        },
        (400, "invalid_request_error", "unsupported_value", "input"),
    ),
    "a bad gateway": (502, b"<html>", (502, "server_error", "server_error", None)),
    "a teapot": (418, b"", (502, "server_error", "server_error", None)),
}


@pytest.mark.parametrize(("status", "body", "expected"), TABLE.values(), ids=TABLE)
def test_the_responsible_party_decides_the_error_message(
    status: int, body: Any, expected: tuple[int, str, str | None, str | None]
) -> None:
    error = failure(status, body)

    assert (error.status, error.type, error.code, error.param) == expected
    assert error.message


def test_faults_of_the_backends_and_the_operator_reveal_nothing() -> None:
    for status in (401, 403, 500, 502, 503):
        assert "secret" not in failure(status, envelope("secret")).message


def test_a_403_is_reported_as_a_rejected_key_only_if_the_backend_names_the_key() -> None:
    assert "credentials" in failure(403, envelope("Incorrect API key provided: secret.")).message
    assert "credentials" in failure(401, envelope("Your input was flagged.")).message
    message = failure(403, envelope("Your input was flagged.")).message
    assert "'gpu-a'" in message and message.endswith(" with status 403.")


@pytest.mark.parametrize("status", [401, 403, 500, 502, 503, 529])
def test_a_client_gets_the_label_and_the_status_and_the_operator_the_url_too(status: int) -> None:
    error = failure(status, envelope("secret"))

    assert error.message.startswith("Backend 'gpu-a' ")
    assert "8000" not in error.message
    assert str(error).startswith("Backend 'gpu-a:8000' (http://gpu-a:8000/v1) ")
    assert str(status) in str(error)
    assert error.gist == str(error)


@pytest.mark.parametrize(
    ("key_env", "advice"),
    [
        ("GPU_KEY", "Correct the key in the environment variable GPU_KEY (setting `key_env`)."),
        ("", "Set `key_env` to the environment variable that contains its key."),
    ],
)
def test_a_refused_key_names_the_setting_of_its_variable_to_the_operator_alone(
    key_env: str, advice: str
) -> None:
    error = read_failure(401, {}, b"", "m", GPU._replace(key_env=key_env))

    assert str(error).startswith("Backend 'gpu-a:8000' (http://gpu-a:8000/v1) ")
    assert str(error).endswith(f" with status 401. {advice}")
    assert error.message.startswith("Backend 'gpu-a' rejected ")
    assert " with status 401. " in error.message
    assert not any(word in error.message for word in ("8000", "http", key_env or "api_key"))


def test_credentials_and_the_query_of_a_url_are_in_no_error() -> None:
    odd = BackendIdentity("b", "https://user:s3cr3t@host/v1?token=s3cr3t#s3cr3t", "b")

    assert str(odd.error("failed")) == "Backend 'b' (https://…@host/v1) failed."


def test_the_clients_fault_is_reported_in_the_backends_words() -> None:
    assert (
        failure(400, envelope("temperature must be a number")).message
        == "temperature must be a number"
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry_after": "7"}, {"retry-after": "7"}),
        ({"retry_after": "0.2"}, {"retry-after": "1"}),
        ({"retry_after_ms": "2500", "retry_after": "9"}, {"retry-after": "3"}),
        ({"retry_after": "121"}, {"x-should-retry": "false"}),
        ({"retry_after": "-1"}, {"retry-after": "1"}),
        ({"retry_after": "nan"}, {"retry-after": "1"}),
        ({"retry_after": "Fri, 20 Nov 2026 12:00:00 GMT"}, {"retry-after": "1"}),
        ({"retry_after": "7\r\nx-evil: 1"}, {"retry-after": "1"}),
        ({}, {"retry-after": "1"}),
    ],
)
def test_a_wait_is_sent_in_whole_seconds_for_the_sdks(
    headers: dict[str, str], expected: dict[str, str]
) -> None:
    assert failure(429, envelope(), **headers).headers == expected
    assert failure(503, envelope(), **headers).headers == expected


def test_a_rate_limit_reports_the_wait_once() -> None:
    assert (
        failure(429, envelope("Slow down."), retry_after="7").message
        == "Slow down. Please try again in 7s."
    )
    reported = "Limit reached. Please try again in 7s."
    assert failure(429, envelope(reported), retry_after="7").message == reported


@pytest.mark.parametrize("message", ["Slow down.", ""])
def test_the_wait_of_a_client_is_not_one_of_the_backend(message: str) -> None:
    error = failure(429, envelope(message))

    assert error.message.endswith("Please try again in 1s.")
    assert rejected(429, {}, error).wait is None


TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 36278."


def test_a_request_that_no_wait_lets_through_is_not_to_be_retried() -> None:
    for headers in ({}, {"retry_after": "600"}, {"retry_after": "1"}):
        error = failure(429, envelope(TOO_LARGE, code="rate_limit_exceeded"), **headers)

        assert error.body() == {
            "message": TOO_LARGE,
            "type": "tokens",
            "code": "rate_limit_exceeded",
            "param": None,
        }
        assert (error.status, error.headers) == (429, {"x-should-retry": "false"})


@pytest.mark.parametrize(
    ("wait", "seconds"), [(0.0, "1"), (4.0, "4"), (4.1, "5"), (120.0, "120"), (1e9, "120")]
)
def test_an_overloaded_backend_sends_when_its_queue_may_have_drained(
    wait: float, seconds: str
) -> None:
    error = overloaded(wait)

    assert (error.status, error.code, error.type) == (
        503,
        "server_is_overloaded",
        "service_unavailable_error",
    )
    assert error.headers == {"retry-after": seconds}


def test_an_overflow_is_known_by_its_code() -> None:
    assert is_overflow(failure(400, envelope("maximum context length is 8192 tokens")))
    assert not is_overflow(failure(400, envelope()))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "code", "param", "type", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.integers(400, 599),
    st.one_of(st.binary(max_size=60), json_values.map(lambda v: json.dumps(v).encode())),
)
def test_whatever_a_backend_answers_becomes_an_error_that_can_be_sent(
    status: int, body: bytes
) -> None:
    error = failure(status, body)

    assert isinstance(error, ClientError | BackendError)
    assert error.status in {400, 413, 429, 502, 503}
    assert set(msgspec.json.decode(msgspec.json.encode({"error": error.body()}))["error"]) == {
        "message",
        "type",
        "param",
        "code",
    }


@pytest.mark.parametrize("depth", [400, 800, 100_000])
def test_a_body_nested_too_deeply_is_no_fault_of_ours(depth: int) -> None:
    assert failure(500, b"[" * depth + b"]" * depth).status == 502
    assert failure(400, b'{"error":' * depth + b"1" + b"}" * depth).status == 400


def test_half_a_surrogate_pair_in_a_message_can_be_sent_on() -> None:
    error = failure(
        400,
        b'{"error": {"message": "bad \\ud83c", "code": "\\ud83c", "param": "max_tokens.\\ud83c"}}',
    )

    assert msgspec.json.decode(msgspec.json.encode(error.body()))["message"].startswith("bad ")


@pytest.mark.parametrize(
    ("message", "size"),
    [
        # OpenAI, vLLM
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 10000 tokens.",
            (10_000, 8192),
        ),
        (
            "This model's maximum context length is 2048 tokens. However, you requested 2100 "
            "tokens (2000 in the messages, 100 in the completion).",
            (2100, 2048),
        ),
        # Anthropic
        ("prompt is too long: 250000 tokens > 200000 maximum", (250_000, 200_000)),
        # llama.cpp
        (
            "the request exceeds the available context size (4,300 tokens), context size: 4,096",
            (4300, 4096),
        ),
        ("the context length is exceeded", None),
    ],
)
def test_an_error_about_the_window_has_the_numbers_that_the_backend_states(
    message: str, size: tuple[int, int] | None
) -> None:
    assert stated_size(json.dumps({"error": {"message": message, "code": 400}}).encode()) == size


def test_the_numbers_of_llama_cpp_have_fields() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 4096}
    body = {"error": error | {"n_prompt_tokens": 5000}}

    assert stated_size(json.dumps(body).encode()) == (5000, 4096)
