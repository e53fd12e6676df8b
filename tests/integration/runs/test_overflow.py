"""Input that does not fit, as backends tell it in the middle of a good answer."""

from typing import Any

import pytest

from antiphon.errors import BackendError, ClientError
from antiphon.testing import assert_event_stream
from antiphon.upstream.backend_errors import TOO_LONG
from tests.support.parts import plain, query, scripted_parts, stated, stream
from tests.support.replay import delta

OVERFLOW: dict[str, Any] = {"error": {"message": "Context size has been exceeded."}}
TALK = [
    {"role": role, "content": f"{role} {n}"} for n in range(4) for role in ("user", "assistant")
]
INPUT = [*TALK, {"role": "user", "content": "Well?"}]


def contents(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"]]


async def test_with_truncation_the_model_is_called_again_with_less() -> None:
    created, backend = scripted_parts([OVERFLOW], [OVERFLOW], stated("Hi"))

    events = await stream(created, input=INPUT, truncation="auto")

    assert_event_stream(events)
    assert events[-1]["response"]["status"] == "completed"
    assert [contents(request)[0] for request in backend.requests] == ["user 0", "user 3", "Well?"]
    assert {contents(request)[-1] for request in backend.requests} == {"Well?"}


async def test_a_plain_answer_that_is_an_error_counts_too() -> None:
    created, backend = scripted_parts(OVERFLOW, stated("Hi"))

    assert (await query(created, input=INPUT, truncation="auto"))["status"] == "completed"
    assert len(backend.requests) == 2


async def test_without_truncation_it_is_the_clients_error() -> None:
    created, backend = scripted_parts([OVERFLOW], OVERFLOW)

    events = await stream(created, input=INPUT)
    assert_event_stream(events)
    assert events[-1]["response"]["error"] == {
        "code": "context_length_exceeded",
        "message": TOO_LONG,
    }
    with pytest.raises(ClientError) as caught:
        await query(created, input=INPUT)
    assert (caught.value.status, caught.value.code, caught.value.param) == (
        400,
        "context_length_exceeded",
        "input",
    )
    assert len(backend.requests) == 2


async def test_one_turn_that_does_not_fit_is_an_error_with_truncation_too() -> None:
    created, _ = scripted_parts([OVERFLOW])

    events = await stream(created, input="Hi", truncation="auto")

    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"


async def test_output_before_an_overflow_stays_in_the_failed_response() -> None:
    created, backend = scripted_parts([delta(content="Once"), OVERFLOW])

    events = await stream(created, input=INPUT, truncation="auto")

    assert_event_stream(events)
    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Once"
    assert len(backend.requests) == 1


SILENCE = b""
TOO_MUCH = {"error": {"message": "This model's maximum context length is 5 tokens."}}
PYTHON = "llama-cpp-python"


async def test_if_streams_hide_errors_a_silent_one_is_requested_once_more_without_streaming() -> (
    None
):
    created, backend = scripted_parts(SILENCE, (400, TOO_MUCH), dialect=PYTHON)

    events = await stream(created)

    assert_event_stream(events)
    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"
    assert [request["stream"] for request in backend.requests] == [True, False]


async def test_the_plain_answer_to_a_silent_stream_is_streamed() -> None:
    created, _ = scripted_parts(SILENCE, plain("Hello"), dialect=PYTHON)

    events = await stream(created)

    assert_event_stream(events)
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Hello"


async def test_a_silent_backend_is_called_twice() -> None:
    created, backend = scripted_parts(SILENCE, SILENCE, dialect=PYTHON)

    assert (await stream(created))[-1]["response"]["error"]["code"] == "server_error"
    assert len(backend.requests) == 2


async def test_a_plain_request_that_broke_off_is_not_repeated() -> None:
    created, backend = scripted_parts(SILENCE, dialect=PYTHON)

    with pytest.raises(BackendError):
        await query(created)
    assert len(backend.requests) == 1
