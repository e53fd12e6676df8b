"""`response.steer`: what a client says into a response that is being made (specification section 8,
steering).
"""

import asyncio
import threading
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseSteerAcceptedEvent,
    ResponseSteerFailedEvent,
    ResponseSteerPendingEvent,
)

from antiphon.protocol.websocket import Steer
from antiphon.runs.run import Run
from antiphon.server.websocket import connection, steering
from antiphon.storage.records.responses import StoredItem
from antiphon.testing import check_event_stream
from tests.support.replay import Answer, ReplayBackend, delta, echo, sse
from tests.support.server import RunningServer
from tests.support.socket import Talk, talk, text_of

TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
STEERS = {"response.steer.accepted", "response.steer.pending", "response.steer.failed"}


def call(arguments: str) -> dict[str, Any]:
    return delta(
        tool_calls=[
            {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": arguments}}
        ]
    )


class Once:
    """Stops after the first answer's beginning until it is let go; every later answer is an
    echo.
    """

    def __init__(self, backend: ReplayBackend, begins: bytes, ends: bytes = b"") -> None:
        self.go = asyncio.Event()
        self.begins = begins
        self.ends = ends
        self.requests = 0
        backend.script = self

    def __call__(self, request: dict) -> Answer:
        self.requests += 1
        return (
            Answer([self.begins], wait=self.go, rest=[self.ends])
            if self.requests == 1
            else echo(request)
        )


TEXT = sse(delta(content="Once upon"), done=False)
CALL = sse(call('{"at"'), done=False)
REST_OF_CALL = sse(call(': "wall"}'), delta("tool_calls"))


async def begin(one: Talk, at: str = "response.output_text.delta", **parameters: Any) -> str:
    """Begin a response; return its id when it is in the middle."""
    await one.send_request("Hi", **parameters)
    received = await one.until(at)
    response_id: str = received[0]["response"]["id"]
    return response_id


def without_steers(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events as the stream of one response, numbered anew."""
    stored = [event for event in events if event["type"] not in STEERS]
    return [{**event, "sequence_number": number} for number, event in enumerate(stored)]


@pytest.mark.parametrize("store", [True, False])
async def test_a_text_is_cut_and_a_successor_follows(
    server: RunningServer, backend: ReplayBackend, store: bool
):
    Once(backend, TEXT)
    async with talk(server) as one:
        await one.send_request("Hi", store=store, instructions="Be brief", metadata={"a": "b"})
        received = await one.until("response.output_text.delta")
        first = received[0]["response"]["id"]
        await one.steer(first, "In French")
        received += await one.until("response.incomplete")
        successor = await one.until("response.completed")

    numbers = [event["sequence_number"] for event in received]
    (accepted,) = [event for event in received if event["type"] == "response.steer.accepted"]
    cut = received[-1]["response"]
    created = successor[-1]["response"]
    assert numbers == list(range(len(received)))
    assert accepted["steer"]["previous_response_id"] == first
    assert cut["incomplete_details"] == {"reason": "steered"}
    assert (cut["output"][-1]["status"], text_of(cut)) == ("incomplete", "Once upon")
    assert check_event_stream(without_steers(received)) == []
    assert successor[0]["type"] == "response.created"
    assert created["previous_response_id"] == first
    assert (created["instructions"], created["metadata"], created["store"]) == (
        "Be brief",
        {"a": "b"},
        store,
    )
    assert text_of(created) == "You said: In French "
    assert [message["content"] for message in backend.requests[-1]["messages"][1:]] == [
        "Hi",
        "Once upon",
        "In French",
    ]


async def test_the_backend_is_let_go_when_a_text_is_cut(
    server: RunningServer, backend: ReplayBackend
):
    Once(backend, TEXT)
    async with talk(server) as one:
        await one.steer(await begin(one))
        await one.until("response.completed")
    assert backend.left.is_set()


async def test_reasoning_is_cut_too(server: RunningServer, backend: ReplayBackend):
    Once(backend, sse(delta(reasoning_content="Hm"), done=False))
    async with talk(server) as one:
        await one.steer(await begin(one, "response.reasoning_text.delta"))
        cut = (await one.until("response.incomplete"))[-1]["response"]
        await one.until("response.completed")
    assert [(item["type"], item["status"]) for item in cut["output"]] == [
        ("reasoning", "incomplete")
    ]


async def test_a_response_without_output_is_cut(server: RunningServer, backend: ReplayBackend):
    Once(backend, b": wait\n\n")
    async with talk(server) as one:
        await one.steer(await begin(one, "response.in_progress"))
        cut = (await one.until("response.incomplete"))[-1]["response"]
        created = (await one.until("response.completed"))[-1]["response"]
    assert cut["output"] == []
    assert text_of(created) == "You said: Wait "


async def test_a_call_is_never_cut_and_a_message_waits_for_its_output(
    server: RunningServer, backend: ReplayBackend
):
    once = Once(backend, CALL, REST_OF_CALL)
    async with talk(server) as one:
        first = await begin(
            one, "response.function_call_arguments.delta", store=False, tools=[TOOL]
        )
        await one.steer(first, "Mind the gap")
        await one.until("response.steer.accepted")
        once.go.set()
        received = await one.until("response.steer.pending")
        output = [{**received[-1]["required_input"][0], "output": "A wall."}]
        created = await one.created(
            output, previous_response_id=first, store=False, tools=[TOOL], instructions="My own"
        )

    done = next(event["response"] for event in received if event["type"] == "response.completed")
    assert received[-2]["type"] == "response.completed"
    assert received[-1]["sequence_number"] == received[-2]["sequence_number"] + 1
    assert done["output"][-1]["arguments"] == '{"at": "wall"}'
    assert received[-1]["reason"] == "waiting_for_required_input"
    assert received[-1]["required_input"] == [
        {"type": "function_call_output", "call_id": "call_1", "name": "look"}
    ]
    assert created["instructions"] == "My own"
    content = [
        (message["role"], message.get("content"))
        for message in backend.requests[-1]["messages"][1:]
    ]
    assert content[-2:] == [("tool", "A wall."), ("user", "Mind the gap")]


async def test_what_waits_is_passed_on_once(server: RunningServer, backend: ReplayBackend):
    once = Once(backend, CALL, REST_OF_CALL)
    async with talk(server) as one:
        first = await begin(one, "response.function_call_arguments.delta", tools=[TOOL])
        await one.steer(first)
        await one.until("response.steer.accepted")
        once.go.set()
        await one.until("response.steer.pending")
        output = [{"type": "function_call_output", "call_id": "call_1", "output": "A wall."}]
        for _ in range(2):
            await one.created(output, previous_response_id=first, tools=[TOOL])
    assert [len(request["messages"]) for request in backend.requests] == [1, 4, 3]


async def test_what_waits_survives_a_continuation_that_is_refused(
    server: RunningServer, backend: ReplayBackend
):
    once = Once(backend, CALL, REST_OF_CALL)
    async with talk(server) as one:
        first = await begin(one, "response.function_call_arguments.delta", tools=[TOOL])
        await one.steer(first)
        await one.until("response.steer.accepted")
        once.go.set()
        await one.until("response.steer.pending")
        await one.refusal("No output", previous_response_id=first)
        output = [{"type": "function_call_output", "call_id": "call_1", "output": "A wall."}]
        await one.created(output, previous_response_id=first, tools=[TOOL])
    assert backend.requests[-1]["messages"][-1]["content"] == "Wait"


async def test_several_are_passed_on_in_their_order(server: RunningServer, backend: ReplayBackend):
    once = Once(backend, CALL, REST_OF_CALL)
    parts = [{"role": "user", "content": [{"type": "input_text", "text": "Three"}]}]
    async with talk(server) as one:
        first = await begin(one, "response.function_call_arguments.delta", tools=[TOOL])
        for words in ("One", [{"type": "message", "role": "user", "content": "Two"}], parts):
            await one.steer(first, words)
            await one.until("response.steer.accepted")
        once.go.set()
        pending = [(await one.until("response.steer.pending"))[-1]["steer"]["id"] for _ in range(3)]
        output = [{"type": "function_call_output", "call_id": "call_1", "output": "A wall."}]
        await one.created(output, previous_response_id=first, tools=[TOOL])
    content = [
        message["content"]
        for message in backend.requests[-1]["messages"]
        if message["role"] == "user"
    ]
    assert content == ["Hi", "One", "Two", "Three"]
    assert len(set(pending)) == 3


async def test_steer_events_are_sent_in_the_lane_of_the_response(
    server: RunningServer, backend: ReplayBackend
):
    Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(one, stream_id="a")
        await one.steer(first)
        received = await one.until("response.incomplete") + await one.until("response.completed")
    assert {event.get("stream_id") for event in received} == {"a"}


async def test_the_successor_comes_before_what_waits_in_its_lane(
    server: RunningServer, backend: ReplayBackend
):
    Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(one)
        await one.send_request("Later")
        await one.steer(first, "Sooner")
        await one.until("response.incomplete")
        created = [(await one.until("response.completed"))[-1]["response"] for _ in range(2)]
    assert [text_of(response) for response in created] == ["You said: Sooner ", "You said: Later "]


async def test_a_successor_that_cannot_be_created_returns_the_input(
    server: RunningServer, backend: ReplayBackend
):
    once = Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(one)
        backend.script = lambda request: Answer(
            [b'{"error":{"message":"No"}}'], "application/json", 400
        )
        await one.steer(first, "Please")
        await one.until("response.incomplete")
        failed = await one.receive_event()
        backend.script = once
        assert (await one.created())["status"] == "completed"
    assert failed["type"] == "response.steer.failed"
    assert (failed["error"]["code"], failed["error"]["type"]) == (
        "successor_creation_failed",
        "invalid_request_error",
    )
    assert failed["steer"] == {
        "id": failed["steer"]["id"],
        "previous_response_id": first,
        "input": "Please",
    }


# What cannot be steered.


async def refused(one: Talk, response_id: str, input: Any = "Wait") -> str:
    await one.steer(response_id, input)
    failed = (await one.until("response.steer.failed"))[-1]
    assert failed["steer"] == {"previous_response_id": response_id, "input": input}
    ResponseSteerFailedEvent.model_validate(failed)
    code: str = failed["error"]["code"]
    return code


async def test_a_response_of_another_connection_is_not_found(server: RunningServer):
    async with talk(server) as one, talk(server) as another:
        created = await one.created()
        assert await refused(another, created["id"]) == "response_not_found"


async def test_a_response_that_has_completed_is_steered_no_more(server: RunningServer):
    async with talk(server) as one:
        created = await one.created()
        assert await refused(one, created["id"]) == "response_already_completed"


async def test_a_response_that_is_being_saved_is_steered_no_more(
    server: RunningServer, backend: ReplayBackend
):
    save = server.parts.store.save
    saving = asyncio.Event()
    go = asyncio.Event()

    async def slow(*args: Any, **options: Any) -> bool:
        saving.set()
        await go.wait()
        return await save(*args, **options)

    server.parts.store.save = slow  # type: ignore[method-assign]
    backend.script = lambda request: Answer([TEXT, sse(delta("stop"))])
    async with talk(server) as one:
        first = await begin(one, "response.in_progress")
        await saving.wait()
        assert await refused(one, first) == "response_already_completed"
        go.set()
        assert (await one.until("response.completed"))[-1]["response"]["id"] == first


async def test_a_response_cannot_be_steered_while_its_large_items_are_loaded(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain_items = Run.chain_items
    remembering = asyncio.Event()
    go = asyncio.Event()

    async def slow(run: Run) -> list[StoredItem]:
        remembering.set()
        await go.wait()
        return await chain_items(run)

    monkeypatch.setattr(Run, "chain_items", slow)
    async with talk(server) as one:
        first = await begin(one, "response.in_progress", store=False)
        await remembering.wait()
        assert await refused(one, first) == "response_already_completed"
        go.set()
        assert (await one.until("response.completed"))[-1]["response"]["id"] == first


async def test_a_large_input_is_checked_in_a_thread(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set[str]()
    read_steer = connection.read_steer

    def noted(data: dict[str, Any]) -> Steer:
        threads.add(threading.current_thread().name.partition("_")[0])
        return read_steer(data)

    monkeypatch.setattr(connection, "read_steer", noted)
    async with talk(server) as one:
        created = await one.created()
        await one.steer(created["id"], "a" * 70_000)
        await one.until("response.steer.failed")
    assert threads == {"large-data"}


async def test_a_response_that_failed_is_steered_no_more(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer([TEXT], cut=True)
    async with talk(server) as one:
        await one.send_request()
        failed = (await one.until("response.failed"))[-1]["response"]
        assert await refused(one, failed["id"]) == "response_not_active"


async def test_a_response_in_a_conversation_cannot_be_steered(
    server: RunningServer, backend: ReplayBackend
):
    Once(backend, TEXT)
    _, conversation = await server.post("/conversations", json={})
    async with talk(server) as one:
        first = await begin(one, conversation=conversation["id"])
        assert await refused(one, first) == "steering_not_supported"


async def test_a_response_that_is_compacted_by_itself_cannot_be_steered(
    server: RunningServer, backend: ReplayBackend
):
    Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(
            one, context_management=[{"type": "compaction", "compact_threshold": 1000}]
        )
        assert await refused(one, first) == "steering_not_supported"


async def test_too_much_cannot_wait_for_one_response(server: RunningServer, backend: ReplayBackend):
    Once(backend, CALL)
    async with talk(server) as one:
        first = await begin(one, "response.function_call_arguments.delta", tools=[TOOL])
        for _ in range(steering.MAX_STEERS):
            await one.steer(first)
            await one.until("response.steer.accepted")
        assert await refused(one, first) == "too_many_pending_steers"


@pytest.mark.parametrize(
    "input",
    [
        "",
        [],
        7,
        None,
        [{"role": "system", "content": "Obey"}],
        [{"role": "user", "content": "Hi", "status": "completed"}],
        [{"type": "function_call_output", "call_id": "call_1", "output": "x"}],
        [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}],
    ],
)
async def test_only_words_of_the_user_can_be_spoken(
    server: RunningServer, backend: ReplayBackend, input: Any
):
    Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(one)
        await one.steer(first, input)
        failed = (await one.until("response.steer.failed"))[-1]
    assert failed["error"]["code"] == "invalid_input"
    assert failed["steer"] == {"previous_response_id": first, "input": input}


async def test_a_steer_has_no_other_fields(server: RunningServer, backend: ReplayBackend):
    Once(backend, TEXT)
    async with talk(server) as one:
        first = await begin(one)
        message = {
            "type": "response.steer",
            "previous_response_id": first,
            "input": "x",
            "stream_id": "a",
        }
        await one.send_text(message)
        assert (await one.until("response.steer.failed"))[-1]["error"]["code"] == "invalid_input"


async def test_the_official_client_reads_the_events_of_a_steer(
    server: RunningServer, backend: ReplayBackend
):
    once = Once(backend, CALL, REST_OF_CALL)
    sdk: AsyncOpenAI = server.sdk
    async with sdk.responses.connect() as connection:
        await connection.response.create(model="m", input="Hi", tools=[TOOL])  # type: ignore[list-item]
        events = aiter(connection)
        first = await anext(
            event.response async for event in events if event.type == "response.created"
        )
        await anext(
            event
            async for event in events
            if event.type == "response.function_call_arguments.delta"
        )
        await connection.response.steer(previous_response_id=first.id, input="Wait")
        accepted = await anext(
            event async for event in events if event.type == "response.steer.accepted"
        )
        once.go.set()
        pending = await anext(
            event async for event in events if event.type == "response.steer.pending"
        )

    assert isinstance(accepted, ResponseSteerAcceptedEvent) and isinstance(
        pending, ResponseSteerPendingEvent
    )
    assert accepted.steer.id == pending.steer.id
    assert pending.required_input[0].type == "function_call_output"
