"""The cases of Open Responses' compliance suite, each under its id, as tests of our own
(specification section 17).

The suite insists on keys: which must be there, of which type, and which of them may be null.
"""

from typing import Any

import pytest

from antiphon.testing import check_event_stream
from antiphon_verify.samples import png
from tests.integration.server.test_open_responses import (
    INSPECT_TOOL,
    ORPHAN,
    call,
    events_of,
    states,
)
from tests.support.replay import ReplayBackend, delta
from tests.support.server import RunningServer
from tests.support.socket import Talk, talk

TEXT = str
NUMBER = (int, float)
INTEGER = int
BOOLEAN = bool
LIST = list
OBJECT = dict
NULL = type(None)

KEYS: dict[str, Any] = {
    "id": TEXT,
    "object": TEXT,
    "created_at": INTEGER,
    "completed_at": (INTEGER, NULL),
    "status": TEXT,
    "incomplete_details": (OBJECT, NULL),
    "model": TEXT,
    "previous_response_id": (TEXT, NULL),
    "instructions": (TEXT, NULL),
    "output": LIST,
    "error": (OBJECT, NULL),
    "tools": LIST,
    "tool_choice": (TEXT, OBJECT),
    "truncation": TEXT,
    "parallel_tool_calls": BOOLEAN,
    "text": OBJECT,
    "top_p": NUMBER,
    "presence_penalty": NUMBER,
    "frequency_penalty": NUMBER,
    "temperature": NUMBER,
    "top_logprobs": INTEGER,
    "reasoning": (OBJECT, NULL),
    "usage": (OBJECT, NULL),
    "max_output_tokens": (INTEGER, NULL),
    "max_tool_calls": (INTEGER, NULL),
    "store": BOOLEAN,
    "background": BOOLEAN,
    "service_tier": TEXT,
    "metadata": OBJECT,
    "safety_identifier": (TEXT, NULL),
    "prompt_cache_key": (TEXT, NULL),
}
"""The keys of a response, each with what it may be."""

STREAMED = {
    *(
        "created",
        "queued",
        "in_progress",
        "completed",
        "failed",
        "incomplete",
        "output_item.added",
        "output_item.done",
    ),
    *(
        "content_part.added",
        "content_part.done",
        "output_text.delta",
        "output_text.done",
        "refusal.delta",
    ),
    *(
        "refusal.done",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_text.annotation.added",
    ),
}
"""The events that its streams may hold, but for those of reasoning."""

RED = png("red")

USER = {"type": "message", "role": "user", "content": "Hi"}


def checked(response: Any) -> dict[str, Any]:
    """Return a response that has every key, and has ended well."""
    odd = {
        name: response.get(name)
        for name, kinds in KEYS.items()
        if not isinstance(response.get(name), kinds)
    }
    assert odd == {}
    assert set(KEYS) <= response.keys()
    assert response["object"] == "response"
    assert response["status"] == "completed"
    return dict(response)


async def created(server: RunningServer, input: Any = "Hi", **parameters: Any) -> dict[str, Any]:
    """Make a response over HTTP that has every key, ended well and says something."""
    status, response = await server.post(
        "/responses", json={"model": "m", "input": input, **parameters}
    )
    assert status == 200, response
    assert response["output"]
    return checked(response)


async def on_socket(one: Talk, input: Any = "Hi", **parameters: Any) -> dict[str, Any]:
    """Make such a response on a socket."""
    received = await one.create(input, **parameters)
    assert check_event_stream(received) == []
    return checked(received[-1]["response"])


async def test_basic_response(server: RunningServer) -> None:
    response = await created(server)

    assert (response["status"], response["output"][0]["type"]) == ("completed", "message")
    assert response["usage"]["total_tokens"] > 0


@pytest.mark.parametrize("phase", ["commentary", "final_answer"])
async def test_assistant_phase(server: RunningServer, phase: str) -> None:
    content = {"type": "message", "role": "assistant", "phase": phase, "content": "Hello."}

    await created(server, [USER, content, USER])


async def test_response_output_phase_schema(server: RunningServer) -> None:
    """A message's `phase` is there only where it is known; no Chat Completions model tells one."""
    (message,) = (await created(server))["output"]

    assert message.get("phase", "final_answer") in (None, "commentary", "final_answer")


async def test_streaming_response(server: RunningServer) -> None:
    events = await events_of(server, input="Hi there")

    assert {event["type"].removeprefix("response.") for event in events} <= STREAMED
    assert all(isinstance(event["sequence_number"], int) for event in events)
    checked(events[-1]["response"])


async def test_system_prompt(server: RunningServer, backend: ReplayBackend) -> None:
    await created(
        server, [{"type": "message", "role": "system", "content": "Talk like a pirate."}, USER]
    )

    assert backend.requests[0]["messages"][0]["content"] == "Talk like a pirate."


async def test_multi_turn(server: RunningServer, backend: ReplayBackend) -> None:
    await created(
        server, [USER, {"type": "message", "role": "assistant", "content": "Hello."}, USER]
    )

    assert [message["role"] for message in backend.requests[0]["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


async def test_tool_calling(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: states(delta(tool_calls=[call("look")]), ends="tool_calls")
    (item,) = (await created(server, tools=[INSPECT_TOOL]))["output"]

    assert (item["type"], item["name"], item["arguments"]) == ("function_call", "look", "{}")


async def test_tool_calling_in_a_stream(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: states(delta(tool_calls=[call("look")]), ends="tool_calls")
    events = await events_of(server, input="Look", tools=[INSPECT_TOOL])

    assert [event["type"].removeprefix("response.") for event in events[2:-1]] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]


async def test_image_input(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: states(delta(content="Red."))
    poll = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": RED, "detail": "auto"},
    ]
    await created(server, [{"type": "message", "role": "user", "content": poll}])

    assert backend.requests[0]["messages"][0]["content"][1]["image_url"]["url"] == RED


async def test_compact_response(server: RunningServer) -> None:
    status, compacted = await server.post(
        "/responses/compact", json={"model": "m", "input": [USER], "prompt_cache_key": "key"}
    )
    output: Any = compacted["output"]

    assert (status, compacted["object"]) == (200, "response.compaction")
    assert {"id", "created_at", "usage"} <= compacted.keys()
    assert [item["type"] for item in output] == ["message", "compaction"]
    assert output[-1]["encrypted_content"]


async def test_compact_missing_model(server: RunningServer) -> None:
    assert (await server.post("/responses/compact", json={"input": [USER]}))[0] == 400


async def test_websocket_response(server: RunningServer) -> None:
    async with talk(server) as one:
        assert (await on_socket(one))["output"]


async def test_websocket_sequential_responses(server: RunningServer) -> None:
    async with talk(server) as one:
        first = await on_socket(one)
        second = await on_socket(one)

    assert first["id"] != second["id"]


async def test_websocket_continuation(server: RunningServer) -> None:
    async with talk(server) as one:
        first = await on_socket(one, store=False)
        second = await on_socket(one, store=False, previous_response_id=first["id"])

    assert (second["previous_response_id"], second["store"]) == (first["id"], False)


async def test_websocket_reconnect_store_false_recovery(server: RunningServer) -> None:
    async with talk(server) as one:
        lost = await on_socket(one, store=False)
    async with talk(server) as one:
        error = await one.refusal(store=False, previous_response_id=lost["id"])
        await on_socket(one, store=False)

    assert error["code"] == "previous_response_not_found"


async def test_websocket_previous_response_not_found(server: RunningServer) -> None:
    async with talk(server) as one:
        assert (await one.refusal(previous_response_id="resp_9"))[
            "code"
        ] == "previous_response_not_found"


async def test_websocket_failed_continuation_evicts_cache(server: RunningServer) -> None:
    async with talk(server) as one:
        parent = await on_socket(one, store=False)
        await one.refusal(ORPHAN, store=False, previous_response_id=parent["id"])
        error = await one.refusal(store=False, previous_response_id=parent["id"])

    assert error["code"] == "previous_response_not_found"


async def test_websocket_compact_new_chain(server: RunningServer, backend: ReplayBackend) -> None:
    _, compacted = await server.post("/responses/compact", json={"model": "m", "input": [USER]})
    output: Any = compacted["output"]
    async with talk(server) as one:
        response = await on_socket(one, [*output, {**USER, "content": "Go on"}])

    assert response["previous_response_id"] is None
    assert [message["content"] for message in backend.requests[-1]["messages"]][::2] == [
        "Hi",
        "Go on",
    ]


async def test_websocket_generate_false(server: RunningServer, backend: ReplayBackend) -> None:
    async with talk(server) as one:
        warm = await on_socket(one, store=False, generate=False)
        assert (warm["output"], backend.requests) == ([], [])
        await on_socket(one, "Go on", store=False, previous_response_id=warm["id"])

    assert [message["content"] for message in backend.requests[-1]["messages"]] == ["Hi", "Go on"]
