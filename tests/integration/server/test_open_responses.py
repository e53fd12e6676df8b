"""The rules of Open Responses, one by one, over HTTP and WebSocket (specification section 17).

The number before each group is the rule's. Where we differ, OpenAI does too, and the test's
docstring says how.
"""

import json
from typing import Any

import pytest

from antiphon.server.websocket import connection as websocket
from antiphon.testing import check_event_stream
from tests.support.openai_types import EVENTS
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer
from tests.support.socket import talk, text_of

INSPECT_TOOL, LEAP = (
    {"type": "function", "name": name, "parameters": {"type": "object"}}
    for name in ("look", "leap")
)

ORPHAN = [{"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}]


def call(name: str, index: int = 0) -> dict[str, Any]:
    return {
        "index": index,
        "id": f"call_{name}",
        "type": "function",
        "function": {"name": name, "arguments": "{}"},
    }


def states(*parts: dict[str, Any], ends: str = "stop") -> Answer:
    return Answer([sse(*parts, delta(ends))])


async def stream(server: RunningServer, **body: Any) -> tuple[str, str]:
    """Ask for a stream; return its content type and its text."""
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "stream": True, **body}
    ) as reply:
        return reply.headers["content-type"], await reply.text()


def events_in(body: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: "))
        for line in body.splitlines()
        if line.startswith("data: ")
    ]


async def events_of(server: RunningServer, **body: Any) -> list[dict[str, Any]]:
    events = events_in((await stream(server, **body))[1])
    assert check_event_stream(events) == []
    return events


def without_ids(items: Any) -> list[dict[str, Any]]:
    return [{**item, "id": ""} for item in items]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """The types of the events between the response's beginning and its end, of several deltas the
    first.
    """
    types = [event["type"].removeprefix("response.") for event in events[2:-1]]
    return [kind for kind, before in zip(types, ["", *types], strict=False) if kind != before]


# 1


async def test_a_string_is_a_message_of_the_user(
    server: RunningServer, backend: ReplayBackend
) -> None:
    _, as_string = await server.post("/responses", json={"model": "m", "input": "Hi"})
    message = {"type": "message", "role": "user", "content": "Hi"}
    _, as_items = await server.post("/responses", json={"model": "m", "input": [message]})

    assert without_ids(as_string["output"]) == without_ids(as_items["output"])
    assert backend.requests[0] == backend.requests[1]
    assert backend.requests[0]["messages"] == [{"role": "user", "content": "Hi"}]


# 2


async def test_a_plain_answer_is_json(server: RunningServer) -> None:
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi"}
    ) as reply:
        assert reply.headers["content-type"] == "application/json"


async def test_a_streams_event_is_named_by_the_type_in_its_body_and_has_no_id(
    server: RunningServer,
) -> None:
    content_type, body = await stream(server, input="Hi")
    named = [
        line.removeprefix("event: ") for line in body.splitlines() if line.startswith("event: ")
    ]

    assert content_type.partition(";")[0] == "text/event-stream"
    assert named == [event["type"] for event in events_in(body)]
    assert not any(line.startswith("id:") for line in body.splitlines())


async def test_a_stream_ends_with_its_terminal_event(server: RunningServer) -> None:
    """We send no `[DONE]` behind it, which Open Responses asks for: OpenAI sends none, and its
    clients need none.
    """
    _, body = await stream(server, input="Hi")

    assert events_in(body)[-1]["type"] == "response.completed"
    assert "[DONE]" not in body


# 3


async def test_every_item_has_an_id_a_type_and_a_status(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """But for `compaction`, whose kind has no status at OpenAI either."""
    backend.script = lambda request: states(
        delta(reasoning_content="Hm."),
        delta(content="Well."),
        delta(tool_calls=[call("look")]),
        ends="tool_calls",
    )
    events = await events_of(server, input="Hi", tools=[INSPECT_TOOL])
    items = [event["item"] for event in events if "item" in event]
    _, listed = await server.get(f"/responses/{events[-1]['response']['id']}/input_items")

    assert {item["type"] for item in items} == {"reasoning", "message", "function_call"}
    assert all(item["id"] and item["status"] for item in [*items, *listed["data"]])  # type: ignore[misc]
    assert len({item["id"] for item in items}) == 3


async def test_an_item_is_in_progress_then_completed_and_changes_no_more(
    server: RunningServer,
) -> None:
    events = await events_of(server, input="Hi there")
    (added,) = [event["item"] for event in events if event["type"] == "response.output_item.added"]
    (done,) = [event["item"] for event in events if event["type"] == "response.output_item.done"]

    assert (added["status"], done["status"]) == ("in_progress", "completed")
    assert events[-2]["type"] == "response.output_item.done"
    assert events[-1]["response"]["output"] == [done]


@pytest.mark.parametrize(
    "cut", [{"content": "We"}, {"reasoning_content": "H"}, {"tool_calls": [call("leap", 1)]}]
)
async def test_an_incomplete_item_is_the_last_and_its_response_is_incomplete(
    server: RunningServer, backend: ReplayBackend, cut: dict[str, Any]
) -> None:
    backend.script = lambda request: states(
        delta(tool_calls=[call("look")]), delta(**cut), ends="length"
    )
    response = (await events_of(server, input="Hi", tools=[INSPECT_TOOL, LEAP]))[-1]["response"]

    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}


# 4


async def test_a_message_streams_as_item_part_deltas_and_their_ends(server: RunningServer) -> None:
    assert kinds(await events_of(server, input="Hi there")) == [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]


async def test_an_item_begins_with_its_fields_set_to_nothing(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: states(
        delta(reasoning_content="Hm."),
        delta(content="Well."),
        delta(tool_calls=[call("look")]),
        ends="tool_calls",
    )
    events = await events_of(server, input="Hi", tools=[INSPECT_TOOL])
    thought, message, requested = (
        event["item"] for event in events if event["type"] == "response.output_item.added"
    )
    part = next(event["part"] for event in events if event["type"] == "response.content_part.added")

    assert (thought["summary"], message["content"], message["role"]) == ([], [], "assistant")
    assert (requested["arguments"], requested["name"], requested["call_id"]) == (
        "",
        "look",
        "call_look",
    )
    assert part["type"] in ("reasoning_text", "output_text")
    assert part["text"] == ""


# 5


async def test_a_fault_in_a_stream_is_an_error_and_then_response_failed(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="We"), {"error": {"message": "It burns."}})]
    )
    events = await events_of(server, input="Hi")

    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert events[-1]["response"]["status"] == "failed"
    assert "It burns." in events[-1]["response"]["error"]["message"]


# 6


async def test_nothing_is_sent_that_the_api_does_not_name(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """So no type of ours needs a prefix.

    `keepalive`, which OpenAI sends too, is the one event of no package.
    """
    backend.script = lambda request: states(
        delta(reasoning_content="Hm."),
        delta(content="Well."),
        delta(tool_calls=[call("look")]),
        ends="tool_calls",
    )
    events = await events_of(server, input="Hi", tools=[INSPECT_TOOL])

    assert {event["type"] for event in events} <= EVENTS.keys()


# 7


async def test_a_chain_is_the_parents_input_then_its_output_then_the_new_input(
    server: RunningServer, backend: ReplayBackend
) -> None:
    first = "One"
    second = "Two"
    _, parent = await server.post("/responses", json={"model": "m", "input": first})
    _, child = await server.post(
        "/responses", json={"model": "m", "input": second, "previous_response_id": parent["id"]}
    )
    await server.post(
        "/responses", json={"model": "m", "input": "Three", "previous_response_id": child["id"]}
    )

    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "One", "You said: One", "Two", "You said: Two", "Three"
    ]  # fmt: skip
    assert child["previous_response_id"] == parent["id"]


# 8


def allowing(*names: str, mode: str = "auto") -> dict[str, Any]:
    return {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{"type": "function", "name": name} for name in names],
    }


CHOICES = pytest.mark.parametrize(
    ("choice", "received"),
    [(allowing("look"), ["look"]), (allowing("look", mode="required"), ["look"]), ("none", [])],
)


@CHOICES
@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_call_of_a_tool_that_is_not_allowed_does_not_reach_the_client(
    server: RunningServer, backend: ReplayBackend, choice: Any, received: list[str], is_stream: bool
) -> None:
    """Whether the tool is offered beside the allowed ones, or one that the model makes up."""
    calls = [call("leap"), call("look", 1), call("dream", 2)]
    backend.script = lambda request: (
        states(*(delta(tool_calls=[each]) for each in calls), ends="tool_calls")
        if is_stream
        else Answer([completion(None, tool_calls=calls)], JSON)
    )
    body = {"model": "m", "input": "Leap", "tools": [INSPECT_TOOL, LEAP], "tool_choice": choice}
    if is_stream:
        response = (await events_of(server, **body))[-1]["response"]
    else:
        _, response = await server.post("/responses", json=body)

    assert [item["name"] for item in response["output"]] == received
    assert response["status"] == "completed"


@CHOICES
async def test_it_is_not_stored_for_the_next_turn_either(
    server: RunningServer, backend: ReplayBackend, choice: Any, received: list[str]
) -> None:
    backend.script = lambda request: states(
        delta(tool_calls=[call("leap")]), delta(content="Well."), ends="tool_calls"
    )
    tools = [INSPECT_TOOL, LEAP]
    first = (await events_of(server, input="Leap", tools=tools, tool_choice=choice))[-1]["response"]
    await events_of(server, input="And?", tools=tools, previous_response_id=first["id"])

    assert [message["role"] for message in backend.requests[-1]["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    assert "tool_calls" not in backend.requests[-1]["messages"][1]


async def test_tools_that_may_not_be_called_are_still_echoed(server: RunningServer) -> None:
    _, response = await server.post(
        "/responses",
        json={
            "model": "m",
            "input": "Hi",
            "tools": [INSPECT_TOOL, LEAP],
            "tool_choice": allowing("look"),
        },
    )

    assert [tool["name"] for tool in response["tools"]] == ["look", "leap"]  # type: ignore[attr-defined]
    assert response["tool_choice"] == allowing("look")


# 9

OVERFLOW = Answer(
    [
        json.dumps(
            {"error": {"message": "This model's maximum context length is 8 tokens.", "code": None}}
        ).encode()
    ],
    JSON,
    400,
)


async def test_without_truncation_what_is_too_long_fails_and_nothing_is_dropped(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: OVERFLOW
    turns = [{"role": role, "content": "Tide"} for role in ("user", "assistant", "user")]
    status, body = await server.post(
        "/responses", json={"model": "m", "input": turns, "truncation": "disabled"}
    )

    assert status == 400
    assert body["error"]["code"] == "context_length_exceeded"  # type: ignore[index]
    assert [len(request["messages"]) for request in backend.requests] == [3]


async def test_with_it_the_oldest_goes(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: (
        Answer([text("Hi")]) if len(request["messages"]) < 3 else OVERFLOW
    )
    turns = [{"role": role, "content": "Tide"} for role in ("user", "assistant", "user")]
    events = await events_of(server, input=turns, truncation="auto")

    assert events[-1]["response"]["status"] == "completed"
    assert events[-1]["response"]["truncation"] == "auto"


# 10


@pytest.mark.parametrize(
    ("states", "status", "kind"),
    [
        ({"input": 7}, 400, "invalid_request_error"),
        ({"model": None}, 400, "invalid_request_error"),
        ({"previous_response_id": "resp_9"}, 400, "invalid_request_error"),
    ],
)
async def test_an_error_is_an_object_of_type_code_param_and_message(
    server: RunningServer, states: dict[str, Any], status: int, kind: str
) -> None:
    """Its types are OpenAI's: `invalid_request_error`, not Open Responses' `invalid_request`."""
    answer, body = await server.post("/responses", json={"model": "m", "input": "Hi", **states})
    error: Any = body["error"]

    assert answer == status
    assert error.keys() == {"type", "code", "param", "message"}
    assert (error["type"], bool(error["message"])) == (kind, True)


@pytest.mark.parametrize(
    ("failed", "status", "kind"), [(429, 429, "requests"), (500, 502, "server_error")]
)
async def test_a_models_fault_has_the_status_of_its_kind(
    server: RunningServer, backend: ReplayBackend, failed: int, status: int, kind: str
) -> None:
    """OpenAI's types again, for `too_many_requests` and `model_error`; 502 tells a model's fault
    from ours.
    """
    backend.script = lambda request: Answer([b'{"error": {"message": "No."}}'], JSON, failed)
    answer, body = await server.post("/responses", json={"model": "m", "input": "Hi"})

    assert (answer, body["error"]["type"]) == (status, kind)  # type: ignore[index]


async def test_what_is_not_there_is_404(server: RunningServer) -> None:
    """Of the type `invalid_request_error`, as at OpenAI; Open Responses has `not_found`."""
    status, body = await server.get("/responses/resp_9")

    assert (status, body["error"]["type"]) == (404, "invalid_request_error")  # type: ignore[index]


# 11


async def test_reasoning_is_raw_content_and_unstored_it_is_opaque_too(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: states(delta(reasoning_content="Hm."), delta(content="Well."))
    thought = (await events_of(server, input="Hi", store=False))[-1]["response"]["output"][0]

    assert thought["content"] == [{"type": "reasoning_text", "text": "Hm."}]
    assert thought["summary"] == []
    assert "Hm." not in thought["encrypted_content"]


# 12


async def test_a_conversation_is_echoed(server: RunningServer) -> None:
    _, conversation = await server.post("/conversations", json={})
    _, response = await server.post(
        "/responses", json={"model": "m", "input": "Hi", "conversation": conversation["id"]}
    )

    assert response["conversation"] == {"id": conversation["id"]}


async def test_no_web_is_searched_where_none_may_be(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """Nor anywhere else: a tool that only a server can run is left out, and a header says so."""
    body = {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "web_search", "external_web_access": False}],
    }
    async with server.http.post(f"{server.url}/responses", json=body) as reply:
        assert reply.status == 200
        assert reply.headers["antiphon-ignored-tools"] == "web_search"

    assert "tools" not in backend.requests[0]


# 13


async def test_a_socket_on_the_same_path_gives_the_events_of_a_stream(
    server: RunningServer,
) -> None:
    async with talk(server) as one:
        received = await one.create("Hi there")
    streamed = await events_of(
        server, input="Hi there", stream_options={"include_obfuscation": False}
    )

    assert check_event_stream(received) == []
    assert [event["type"] for event in received] == [event["type"] for event in streamed]
    assert without_ids(received[-1]["response"]["output"]) == without_ids(
        streamed[-1]["response"]["output"]
    )


async def test_a_turn_on_a_socket_begins_with_response_create(server: RunningServer) -> None:
    async with talk(server) as one:
        await one.send_text({"model": "m", "input": "Hi"})
        assert (await one.receive_event())["type"] == "error"


async def test_background_has_no_place_on_a_socket(server: RunningServer) -> None:
    """`stream` may be said there, which Open Responses rules out: what is implied anyway does no
    harm.
    """
    async with talk(server) as one:
        assert (await one.refusal(background=True))["param"] == "background"
        assert (await one.created(stream=True))["status"] == "completed"


async def test_one_response_is_in_flight_at_a_time(server: RunningServer) -> None:
    """Unless they are in several lanes (`stream_id`), which came to OpenAI's API after the rule was
    written.
    """
    async with talk(server) as one:
        await one.send_request("One")
        await one.send_request("Two")
        received = [*await one.until("response.completed"), *await one.until("response.completed")]

    ids = [event["response"]["id"] for event in received if "response" in event]
    assert [ids[0]] * 3 + [ids[-1]] * 3 == ids
    assert [text_of(event["response"]) for event in received if event["type"] == "response.completed"] == [  # noqa: E501 - one text, or a row of a table
        "You said: One ", "You said: Two "
    ]  # fmt: skip


async def test_an_unstored_response_can_be_followed_on_its_socket(
    server: RunningServer, backend: ReplayBackend
) -> None:
    async with talk(server) as one:
        first = await one.created("One", store=False)
        await one.created("Two", store=False, previous_response_id=first["id"])

    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "One",
        "You said: One ",
        "Two",
    ]


async def test_a_continuation_that_fails_evicts_what_it_followed(server: RunningServer) -> None:
    async with talk(server) as one:
        first = await one.created(store=False)
        await one.refusal(ORPHAN, store=False, previous_response_id=first["id"])
        removed = await one.refusal(store=False, previous_response_id=first["id"])

    assert removed["code"] == "previous_response_not_found"


async def test_an_error_on_a_socket_is_an_envelope_with_status_and_code(
    server: RunningServer,
) -> None:
    async with talk(server) as one:
        (reported,) = await one.create(previous_response_id="resp_9")

    assert (reported["type"], reported["status"]) == ("error", 400)
    assert reported["error"]["code"] == "previous_response_not_found"


async def test_a_socket_lives_for_60_minutes_at_most(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert websocket.OPEN_FOR == 60 * 60
    monkeypatch.setattr(websocket, "OPEN_FOR", 0.05)
    async with talk(server) as one:
        reported = await one.receive_event()

    assert reported["error"]["code"] == "websocket_connection_limit_reached"
