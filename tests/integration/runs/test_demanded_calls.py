"""A call that a backend cannot be forced to make is requested once more, and is a call like any
other.
"""

import json
from typing import Any

import pytest

from antiphon.runs.corrections import NO_CALL
from antiphon.testing import assert_event_stream
from tests.support.parts import Chunks, called, query, scripted_parts, stated, stream
from tests.support.replay import delta

UNFORCED = (400, {"error": {"message": "Thinking mode does not support this tool_choice"}})
LONG = "call_28474be1__thought__" + "Cq/+" * 100
PING = {"type": "function", "name": "ping", "parameters": {"type": "object", "properties": {}}}
TIME = PING | {"name": "get_time"}
NAMED: dict[str, Any] = {"tools": [TIME, PING], "tool_choice": {"type": "function", "name": "ping"}}


def used(tokens: int) -> dict[str, Any]:
    return {
        "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens},
    }


async def test_its_events_are_those_of_any_call() -> None:
    created, backend = scripted_parts(UNFORCED, UNFORCED, called("get_time"), called("ping"))

    events = await stream(created, **NAMED)

    assert_event_stream(events)
    (call,) = events[-1]["response"]["output"]
    assert (call["name"], call["status"]) == ("ping", "completed")
    assert [sent["messages"][-1]["content"] for sent in backend.requests[2:]] == ["Hi", NO_CALL]


async def test_its_reasoning_and_its_signature_go_back_to_the_backend() -> None:
    first = [delta(reasoning_content="One"), *called("get_time")]
    second = [delta(reasoning_content="Two"), *called("ping", call_id=LONG)]
    created, backend = scripted_parts(
        UNFORCED, UNFORCED, first, second, stated("ok"), dialect="deepseek"
    )

    response = await query(created, **NAMED)
    result = {
        "type": "function_call_output",
        "call_id": response["output"][-1]["call_id"],
        "output": "pong",
    }
    await query(created, tools=[PING], previous_response_id=response["id"], input=[result])

    _, call, output = backend.requests[-1]["messages"]
    assert (call["reasoning_content"], call["tool_calls"][0]["id"], output["tool_call_id"]) == (
        "Two",
        LONG,
        LONG,
    )


async def test_its_id_contains_its_signature_if_nothing_is_stored() -> None:
    created, _ = scripted_parts(UNFORCED, UNFORCED, stated("No."), called("ping", call_id=LONG))

    response = await query(created, **NAMED, store=False)

    assert response["output"][-1]["call_id"].startswith("call_sealed_")


async def test_both_answers_together_stay_within_the_limit_of_tokens() -> None:
    created, backend = scripted_parts(
        UNFORCED, UNFORCED, [*stated("No."), used(40)], [*stated("Never."), used(10)]
    )

    response = await query(created, **NAMED, max_output_tokens=50)

    assert (response["status"], response["usage"]["output_tokens"]) == ("completed", 50)
    assert backend.requests[-1]["max_tokens"] == 10


async def test_a_call_is_not_requested_if_no_tokens_are_left_for_it() -> None:
    created, backend = scripted_parts(UNFORCED, UNFORCED, [*stated("No."), used(50)])

    assert (await query(created, **NAMED, max_output_tokens=50))["status"] == "completed"
    assert len(backend.requests) == 3


@pytest.mark.parametrize(
    "answer", [called("ping", '{"e": "2')[:1], [delta(content="Hm, le")]], ids=["call", "text"]
)
@pytest.mark.parametrize(
    "more", [{}, {"context_management": [{"type": "compaction"}]}], ids=["plain", "agentic"]
)
async def test_a_response_fails_with_a_call_that_breaks_off(
    more: dict[str, Any], answer: Chunks
) -> None:
    created, _ = scripted_parts(UNFORCED, UNFORCED, stated("No."), answer)

    events = await stream(created, **NAMED, **more)

    assert_event_stream(events)
    assert events[-1]["type"] == "response.failed", json.dumps(events[-1])


@pytest.mark.parametrize(
    "more", [{}, {"context_management": [{"type": "compaction"}]}], ids=["plain", "agentic"]
)
async def test_a_response_is_complete_if_the_request_for_the_call_is_refused(
    more: dict[str, Any],
) -> None:  # a guard
    created, _ = scripted_parts(
        UNFORCED, UNFORCED, stated("No."), (401, {"error": {"message": "No such key."}})
    )

    response = await query(created, **NAMED, **more)

    assert (response["status"], [item["type"] for item in response["output"]]) == (
        "completed",
        ["message"],
    )
