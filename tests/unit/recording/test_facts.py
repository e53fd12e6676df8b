"""Facts of a response: what is made of its record, its items and its end."""

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.protocol.items.content import InputImage, InputText, OutputText
from antiphon.protocol.items.hosted import McpCall
from antiphon.protocol.items.messages import FunctionCall, Message
from antiphon.protocol.response import Response, ResponseError
from antiphon.recording.facts import ResponseOrigin, facts_of
from antiphon.storage.records.facts import CACHED, STORED, STREAM, Facts
from antiphon.telemetry.observers import ResponseRecord, Span
from tests.support.parts import NOW, target

ORIGIN = ResponseOrigin("asked", "t", "key_1", STORED, 99)


def created(
    output: list[Any] | None = None, requested: list[Any] | None = None, **fields: Any
) -> Facts:
    """Facts of a response that began 10 s ago; `spans` are offsets in seconds."""
    spans = fields.pop("spans", [])
    flags = fields.pop("flags", ORIGIN.flags)
    record_fields = fields.pop("record", {})
    response = Response(
        id="resp_1",
        created_at=NOW,
        model="m",
        output=output or [],
        **{"status": "completed"} | fields,
    )
    record = ResponseRecord(response, target(), list, **record_fields)
    record.began = time.monotonic() - 10
    record.spans = [
        Span(kind, name, *(None if at is None else record.began + at for at in times), error=error)
        for kind, name, times, error in spans
    ]
    return facts_of(replace(ORIGIN, flags=flags), response, requested or [], NOW, record)


def test_calls_of_models_are_counted_apart_from_tools() -> None:
    facts = created(
        flags=STREAM,
        spans=[
            ("call", "a", (1.0, None, 2.0), "server_error"),
            ("call", "b", (2.0, 2.5, 3.0), ""),
            ("tool", "price", (3.0, None, 4.0), ""),
        ],
    )
    assert (facts.calls, facts.queued, facts.first) == (2, 1_000, 2_500)
    assert facts.ended == NOW * 1000 and abs(facts.began - (NOW - 10) * 1000) <= 50
    began, spans = json.loads(facts.spans)
    assert began == facts.began
    assert [(kind, name, error) for kind, name, *_, error in spans] == [
        ("call", "a", "server_error"),
        ("call", "b", ""),
        ("tool", "price", ""),
    ]
    assert [round(at / 1e6, 3) for at in spans[1][2:5]] == [2.0, 3.0, 2.5]


def test_what_waited_for_nothing_has_no_spans() -> None:
    facts = created(record={"cache": "hit"})
    assert (facts.spans, facts.calls, facts.queued, facts.first) == (b"", 0, None, None)
    assert facts.flags == STORED | CACHED


@pytest.mark.parametrize("error", ["server_error", ""])
def test_what_was_not_announced_is_cancelled_whatever_its_calls_ended_with(error: str) -> None:
    facts = created(status="in_progress", spans=[("call", "a", (1.0, None, 2.0), error)])
    assert (facts.status, facts.error) == ("cancelled", "")


@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_what_failed_has_the_error_that_its_client_received(status: str) -> None:
    sent = ResponseError(code="http_error", message="No list.")
    spans = [("call", "a", (1.0, None, 2.0), "server_error")]
    facts = created(status=status, spans=spans, record={"failure": sent})
    assert (facts.status, facts.error, facts.output) == ("failed", "http_error", "No list.")


def test_a_failed_response_has_the_code_of_its_error() -> None:
    facts = created(
        status="failed", error=ResponseError(code="context_length_exceeded", message="Too long.")
    )
    assert (facts.status, facts.error) == ("failed", "context_length_exceeded")


def test_the_newest_message_of_each_side_is_displayed_up_to_its_first_characters() -> None:
    parts: Any = [InputImage(image_url="data:"), InputText(text="See " * 100)]
    requested = [
        Message(role="user", content="Old"),
        Message(role="user", content=parts),
        Message(role="system", content="S"),
    ]
    answer: Any = [OutputText(text="Said", annotations=[])]
    facts = created([Message(role="assistant", content=answer)], requested)
    assert (facts.input, facts.output) == (("See " * 100)[:160], "Said")


def test_tools_are_named_by_kind_and_name() -> None:
    facts = created(
        [
            FunctionCall(call_id="c", name="look", arguments="{}"),
            FunctionCall(call_id="d", name="look", arguments="{}", namespace="shop"),
            McpCall(id="mcp_1", server_label="tracker", name="close issue", arguments="{}"),
        ]
    )
    assert facts.tools == " function look shop.look mcp tracker.close_issue "


def test_a_queued_response_has_not_ended() -> None:
    response = Response(id="resp_1", created_at=NOW, model="m", status="queued")
    facts = facts_of(ORIGIN, response, [], NOW)
    assert (facts.status, facts.began, facts.ended, facts.served_model) == (
        "queued",
        NOW * 1000,
        None,
        "",
    )
