"""A request that only fills a prompt cache generates nothing, on every path."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.websocket import read_create
from antiphon.testing import check_event_stream
from tests.support.cases import each
from tests.support.parts import query, scripted_parts, stated, stream
from tests.support.replay import delta

PREWARM = {"prompt_cache_options": {"prewarm": True}}
USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}
ONE_TOKEN = [delta(content="Y"), delta("length"), USAGE]
COUNTS = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 9,
}


async def test_the_prompt_is_read_and_no_output_displayed() -> None:
    created, backend = scripted_parts(ONE_TOKEN, stated("Yes."), dialect="llamacpp")
    tools = [{"type": "function", "name": "look"}]
    response = await query(created, input="Hi", instructions="Be kind.", tools=tools, **PREWARM)
    await query(created, input="Hi", instructions="Be kind.", tools=tools)

    warm, real = backend.requests
    assert (response["status"], response["output"], response["usage"]) == ("completed", [], COUNTS)
    assert response["prompt_cache_options"] == {"prewarm": True}
    assert [(one["messages"], one["tools"]) for one in (warm,)] == [
        (real["messages"], real["tools"])
    ]
    assert 1 in (warm.get("max_tokens"), warm.get("max_completion_tokens"))


async def test_a_stream_has_no_item() -> None:
    created, _ = scripted_parts(ONE_TOKEN, dialect="llamacpp")
    events = await stream(created, **PREWARM)

    assert [event["type"].rpartition(".")[2] for event in events] == [
        "created",
        "in_progress",
        "completed",
    ]
    assert events[-1]["response"]["usage"] == COUNTS
    assert check_event_stream(events) == []


async def test_a_backend_without_a_prompt_cache_is_not_called() -> None:
    created, backend = scripted_parts(dialect="generic")
    response = await query(created, **PREWARM)

    assert (backend.requests, response["output"], response["usage"]["output_tokens"]) == ([], [], 0)


def test_it_overrides_generate_of_a_websocket() -> None:
    message = {"type": "response.create", "model": "m", "input": "Hi", "generate": False}

    assert not read_create(message).generates
    assert read_create(message | PREWARM).generates


async def test_a_chain_goes_on_from_it() -> None:
    created, backend = scripted_parts(ONE_TOKEN, stated("Yes."), dialect="llamacpp")
    first = await query(created, input="a", **PREWARM)
    await query(created, input="b", previous_response_id=first["id"])

    assert [message["content"] for message in backend.requests[-1]["messages"]] == ["a", "b"]


@each(
    "options, param",
    [
        ({"prewarm": "yes"}, "prewarm"),
        ({"comparison_response_id": 1}, "comparison_response_id"),
        ({"comparison_response_id": "x"}, "comparison_response_id"),
    ],
)
async def test_an_option_of_the_wrong_type_is_refused(options: dict[str, Any], param: str) -> None:
    with pytest.raises(ClientError) as caught:
        await query(scripted_parts()[0], prompt_cache_options=options)

    assert (caught.value.status, caught.value.param) == (400, f"prompt_cache_options.{param}")
