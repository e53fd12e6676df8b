import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import BackendError, StoreError
from antiphon.protocol.response import Usage
from antiphon.stream.items import StreamingMessage, StreamingReasoning
from antiphon.stream.reasoning import ReasoningState
from antiphon.stream.writer import ResponseWriter
from tests.support.translate import COMPLETED_AT, begin


@pytest.fixture
def writer() -> ResponseWriter:
    return begin().writer


def taken(writer: ResponseWriter) -> list[dict[str, Any]]:
    return json.loads(msgspec.json.encode(writer.take()))


def types(writer: ResponseWriter) -> list[str]:
    return [event["type"] for event in taken(writer)]


def test_events_are_numbered_from_0_and_taken_once(writer: ResponseWriter) -> None:
    writer.keepalive()
    assert [(event["sequence_number"], event["type"]) for event in taken(writer)] == [
        (0, "response.created"),
        (1, "response.in_progress"),
        (2, "keepalive"),
    ]
    assert taken(writer) == []
    writer.keepalive()
    assert [event["sequence_number"] for event in taken(writer)] == [3]


def test_what_was_sent_stays_as_it_was(writer: ResponseWriter) -> None:
    opening = writer.take()
    message = StreamingMessage(writer)
    message.add_text("Tide.")
    message.close("completed")
    writer.complete(None)
    assert [event.response.status for event in opening] == ["in_progress", "in_progress"]  # type: ignore[attr-defined]
    assert [event.response.output for event in opening] == [[], []]  # type: ignore[attr-defined]


def test_the_output_has_the_closed_items_in_the_order_of_their_opening(writer: ResponseWriter) -> None:
    first, second, third = StreamingReasoning(writer), StreamingMessage(writer), StreamingMessage(writer)
    assert writer.newest == 2
    second.close("completed")
    first.close("completed", ReasoningState())
    assert [item.id for item in writer.output] == [first.id, second.id]
    third.close("completed")
    assert [item.id for item in writer.output] == [first.id, second.id, third.id]


def test_a_completed_response_says_when_and_always_has_usage(writer: ResponseWriter) -> None:
    writer.complete(None)
    assert writer.response.completed_at == COMPLETED_AT
    assert writer.response.usage == Usage()


def test_a_response_that_stopped_short_says_why_and_not_when(writer: ResponseWriter) -> None:
    writer.stop_short("content_filter", Usage(total_tokens=3))
    assert writer.response.status == "incomplete"
    assert msgspec.to_builtins(writer.response.incomplete_details) == {"reason": "content_filter"}
    assert writer.response.completed_at is None
    assert writer.response.usage == Usage(total_tokens=3)


def test_nothing_is_told_of_the_end_before_it_is_durable(writer: ResponseWriter) -> None:
    writer.take()
    writer.complete(None)
    assert types(writer) == []
    writer.end()
    assert types(writer) == ["response.completed"]


def test_a_failure_is_told_nested_and_flat_before_the_response_that_failed(writer: ResponseWriter) -> None:
    writer.take()
    writer.fail(BackendError("It broke.", code="rate_limit_exceeded"))
    writer.end()
    error, failed = taken(writer)
    assert error == {
        "type": "error",
        "sequence_number": 2,
        "error": {"type": "server_error", "code": "rate_limit_exceeded", "message": "It broke.", "param": None},
        "code": "rate_limit_exceeded",
        "message": "It broke.",
        "param": None,
    }
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "It broke."}
    assert failed["response"]["usage"] is None


def test_a_response_that_could_not_be_kept_fails_after_all(writer: ResponseWriter) -> None:
    writer.complete(Usage(total_tokens=3))
    writer.fail(StoreError("The disk is full."), writer.response.usage)
    writer.end()
    assert types(writer)[-2:] == ["error", "response.failed"]
    assert writer.response.completed_at is None
    assert writer.response.usage == Usage(total_tokens=3)


def test_a_cancelled_response_keeps_what_was_closed(writer: ResponseWriter) -> None:
    message = StreamingMessage(writer)
    message.add_text("Tide.")
    message.close("incomplete")
    writer.cancel()
    assert writer.response.status == "cancelled"
    assert [item.id for item in writer.response.output] == [message.id]
