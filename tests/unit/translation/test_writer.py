import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import BackendError, StoreError
from antiphon.protocol.chat import ChatChunk
from antiphon.protocol.items.content import ReasoningText
from antiphon.protocol.items.messages import FunctionCall, Reasoning
from antiphon.protocol.response import Usage
from antiphon.translation.from_chat.decode import decode_chunk
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.from_chat.reasoning import ReasoningState
from antiphon.translation.items import StreamingMessage, StreamingReasoning
from antiphon.translation.writer import ResponseWriter
from tests.support.replay import delta
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


def test_the_output_has_the_closed_items_in_the_order_of_their_opening(
    writer: ResponseWriter,
) -> None:
    first = StreamingReasoning(writer)
    second = StreamingMessage(writer)
    third = StreamingMessage(writer)
    assert writer.newest == 2
    second.close("completed")
    first.close("completed", ReasoningState())
    assert [item.id for item in writer.output] == [first.id, second.id]
    third.close("completed")
    assert [item.id for item in writer.output] == [first.id, second.id, third.id]


def test_a_completed_response_has_its_time_and_usage(writer: ResponseWriter) -> None:
    writer.complete(None)
    assert writer.response.completed_at == COMPLETED_AT
    assert writer.response.usage == Usage()


def test_a_truncated_response_has_its_reason_and_no_completion_time(writer: ResponseWriter) -> None:
    writer.stop_short("content_filter", Usage(total_tokens=3))
    assert writer.response.status == "incomplete"
    assert msgspec.to_builtins(writer.response.incomplete_details) == {"reason": "content_filter"}
    assert writer.response.completed_at is None
    assert writer.response.usage == Usage(total_tokens=3)


def test_the_end_is_not_emitted_before_it_is_durable(writer: ResponseWriter) -> None:
    writer.take()
    writer.complete(None)
    assert types(writer) == []
    writer.end()
    assert types(writer) == ["response.completed"]


def test_a_failure_is_reported_nested_and_flat_before_the_failed_response(
    writer: ResponseWriter,
) -> None:
    writer.take()
    writer.fail(BackendError("It broke.", code="rate_limit_exceeded"))
    writer.end()
    error, failed = taken(writer)
    assert error == {
        "type": "error",
        "sequence_number": 2,
        "error": {
            "type": "server_error",
            "code": "rate_limit_exceeded",
            "message": "It broke.",
            "param": None,
        },
        "code": "rate_limit_exceeded",
        "message": "It broke.",
        "param": None,
    }
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "It broke."}
    assert failed["response"]["usage"] is None


def test_a_response_that_could_not_be_stored_fails(writer: ResponseWriter) -> None:
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


def test_a_resumed_writer_does_not_repeat_earlier_events() -> None:
    """The model is asked again and makes the same: its reasoning stands already, its message does
    not.
    """
    stored = Reasoning(id="rs_kept", summary=[], content=[ReasoningText(text="Hm.")])
    writer = new_writer()
    writer.resume([stored], 9)
    report(writer, reasoning=True, text="Well")

    events = writer.take()
    assert [event.sequence_number for event in events] == list(range(9, 9 + len(events)))
    assert {event.output_index for event in events if hasattr(event, "output_index")} == {1}
    assert [item.id for item in writer.output] == ["rs_kept", writer.output[1].id]


def test_a_writer_that_resumes_lets_the_model_take_another_way() -> None:
    stored = Reasoning(id="rs_kept", summary=[], content=[ReasoningText(text="Hm.")])
    writer = new_writer()
    writer.resume([stored], 9)
    report(writer, reasoning=False, text="Well")

    assert [type(item).__name__ for item in writer.output] == ["Reasoning", "Message"]


def test_a_call_of_another_name_is_no_repetition() -> None:
    stored = FunctionCall(id="fc_kept", call_id="call_1", name="look", arguments="{}")
    writer = new_writer()
    writer.resume([stored], 9)
    for name in ("listen", "look"):
        index = writer.open_item(
            FunctionCall(id="fc_new", call_id="call_2", name=name, arguments="")
        )
        writer.close_item(
            index, FunctionCall(id=f"fc_{name}", call_id="call_2", name=name, arguments="{}")
        )

    assert [item.id for item in writer.output] == ["fc_kept", "fc_listen", "fc_look"]


def test_unreceived_numbers_are_reused() -> None:
    writer = new_writer()
    number = writer.next_number
    writer.complete(None)
    writer.end()
    writer.take()
    writer.continue_at(number)
    writer.fail(StoreError("The store is full."))
    writer.end()

    assert [event.sequence_number for event in writer.take()] == [2, 3]


def new_writer() -> ResponseWriter:
    writer = begin().writer
    writer.take()
    return writer


def report(writer: ResponseWriter, *, reasoning: bool, text: str) -> None:
    chat = ChatStream(writer)
    if reasoning:
        chat.feed(chunk(reasoning_content="Hm."))
    chat.feed(chunk(content=text))
    chat.feed(chunk("stop"))
    chat.finish(True)


def chunk(finish_reason: str | None = None, **fields: Any) -> ChatChunk:
    return decode_chunk(json.dumps(delta(finish_reason, **fields)).encode())
