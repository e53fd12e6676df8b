"""Facts and spans of responses, whichever way they are made, as the store has them afterwards."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from openai import APIStatusError

from antiphon.errors import StoreError
from antiphon.protocol.response import Response, ResponseError
from antiphon.recording import facts_writer
from antiphon.recording.facts import MOST_TOKENS, ResponseOrigin
from antiphon.recording.facts import facts_of as facts_of_response
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import facts_page
from antiphon.storage.records.facts import (
    BACKGROUND,
    ESTIMATED,
    HAS_MESSAGE,
    OWN_ID,
    STORED,
    STREAM,
    WEBSOCKET,
    WORDS,
    Facts,
    FactsQuery,
    pair_of,
)
from antiphon.tools.base import ToolListing
from antiphon.tools.registry import Toolset
from antiphon.upstream.backend import Reply
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.scripted import ScriptedBackend
from tests.store.facts import new_facts
from tests.support.changed_stores import replace_operation
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.socket import talk
from tests.support.tools import MCP, Servers
from tests.support.waiting import eventually, until


async def facts_of(server: RunningServer, count: int = 1) -> list[Facts]:
    """The newest facts, once there are so many."""
    store = server.parts.store
    page = await eventually(
        lambda: store.read(facts_page.page, "", FactsQuery(100)),
        lambda page: len(page.facts) >= count,
    )
    return list(page.facts)


async def spans_of(server: RunningServer, response_id: str) -> list[list[Any]]:
    body = await server.parts.store.read(stored_facts.spans, "", response_id)
    assert body is not None
    began, spans = json.loads(body)
    assert abs(began - time.time() * 1000) < 60_000
    return list(spans)


async def test_a_stored_response_has_facts_as_soon_as_it_has_ended(stateful: RunningServer) -> None:
    before = time.time() * 1000
    created = await stateful.sdk.responses.create(
        model="m", input="What is it?", metadata={"team": "billing"}
    )
    (facts,) = (await stateful.parts.store.read(facts_page.page, "", FactsQuery(100))).facts

    assert (facts.id, facts.status, facts.model, facts.served_model) == (
        created.id,
        "completed",
        "m",
        "m",
    )
    assert (facts.backend, facts.flags, facts.calls, facts.attempts) == ("replay", STORED, 1, 1)
    assert (facts.input, facts.output, facts.tags) == (
        "What is it?",
        created.output_text,
        pair_of("team", "billing"),
    )
    assert (facts.input_tokens, facts.output_tokens) == (5, 1)
    assert facts.ended is not None and facts.queued is not None
    assert int(before) <= facts.began <= facts.ended <= time.time() * 1000
    assert 0 <= facts.queued <= facts.ended - facts.began + 1
    assert facts.request_bytes > 50

    ((kind, name, began, ended, first, error),) = await spans_of(stateful, created.id)
    assert (kind, name, error) == ("call", "replay", "")
    assert 0 <= began <= first <= ended


async def test_an_unstored_response_has_facts_without_words(stateful: RunningServer) -> None:
    await stateful.sdk.responses.create(
        model="m", input="Secret", store=False, metadata={"team": "billing"}
    )
    (facts,) = await facts_of(stateful)

    assert (facts.flags, facts.status, facts.calls) == (0, "completed", 1)
    assert (facts.input, facts.output, facts.tags) == ("", "", "")
    assert len(await spans_of(stateful, facts.id)) == 1


async def test_a_stream_and_the_response_that_follows_it_have_facts(
    stateful: RunningServer,
) -> None:
    async with await stateful.sdk.responses.create(model="m", input="One", stream=True) as stream:
        first = [event async for event in stream][-1].response  # type: ignore[union-attr]
    await stateful.sdk.responses.create(model="m", input="Two", previous_response_id=first.id)
    newer, older = await facts_of(stateful, 2)

    assert (older.flags, older.input) == (STORED | STREAM, "One")
    assert older.ended is not None and older.queued is not None and older.first is not None
    assert 0 <= older.queued <= older.first <= older.ended - older.began + 1
    assert newer.first is None  # its client received everything at once
    assert (newer.flags, newer.input, newer.previous_response_id) == (STORED, "Two", first.id)


async def test_a_conversation_is_named_and_an_unstored_turn_of_it_has_no_words(
    stateful: RunningServer,
) -> None:
    conversation = await stateful.sdk.conversations.create()
    await stateful.sdk.responses.create(
        model="m", input="Hi", conversation=conversation.id, store=False
    )
    (facts,) = (await stateful.parts.store.read(facts_page.page, "", FactsQuery(100))).facts

    assert (facts.conversation_id, facts.flags, facts.input) == (conversation.id, 0, "")


async def test_the_timeline_of_a_stream_has_its_items(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    parts = (delta(reasoning_content="Let me see."), delta(content="Once"), delta("stop"))
    backend.script = lambda _: Answer([sse(*parts)])
    async with await stateful.sdk.responses.create(model="m", input="One", stream=True) as stream:
        created = [event async for event in stream][-1].response  # type: ignore[union-attr]
    call, *items = await spans_of(stateful, created.id)

    assert [(kind, name) for kind, name, *_ in items] == [
        ("item", "reasoning"),
        ("item", "message"),
    ]
    times = [time for _, _, began, ended, *_ in items for time in (began, ended)]
    assert call[2] <= times[0] and times == sorted(times)


async def test_a_plain_response_has_no_items_in_its_timeline(stateful: RunningServer) -> None:
    created = await stateful.sdk.responses.create(model="m", input="One")
    assert [kind for kind, *_ in await spans_of(stateful, created.id)] == ["call"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failed_response_has_the_message_of_its_error(
    stateful: RunningServer, backend: ReplayBackend, stream: bool
) -> None:
    backend.script = lambda _: Answer([b'{"error": {"message": "No such thing."}}'], JSON, 400)
    for store in (True, False):
        with pytest.raises(APIStatusError):
            await stateful.sdk.responses.create(model="m", input="One", stream=stream, store=store)
    found = {one.flags & STORED: one for one in await facts_of(stateful, 2)}
    stored = found[STORED]
    unstored = found[0]

    assert stored.status == unstored.status == "failed"
    assert (stored.flags & HAS_MESSAGE, stored.output) == (HAS_MESSAGE, "No such thing.")
    assert (unstored.flags & HAS_MESSAGE, unstored.output) == (0, "")


def test_the_message_of_an_error_is_bounded() -> None:
    error = ResponseError(code="server_error", message="x" * 10_000)
    response = Response(id="resp_1", created_at=0, model="m", status="failed", error=error)
    facts = facts_of_response(ResponseOrigin("m", "", "", STORED, 10), response, (), 0.0)

    assert (facts.error, facts.output) == ("server_error", "x" * WORDS)


async def test_a_background_response_is_listed_from_the_queue_to_its_end(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    rest = sse(delta(content=" upon a time"), delta("stop"))
    backend.script = lambda _: Answer(
        [sse(delta(content="Once"), done=False)], wait=go, rest=[rest]
    )
    created = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
    (queued,) = await facts_of(stateful)
    assert (
        queued.id == created.id
        and queued.ended is None
        and queued.status in {"queued", "in_progress"}
    )
    await eventually(lambda: facts_of(stateful), lambda one: one[0].status == "in_progress")
    go.set()
    (facts,) = await eventually(lambda: facts_of(stateful), lambda one: one[0].ended is not None)

    assert (facts.status, facts.attempts) == ("completed", 1)
    assert facts.flags == STORED | BACKGROUND | ESTIMATED  # this backend reports no usage
    assert (facts.began, facts.input, facts.output) == (queued.began, "Hi", "Once upon a time")
    assert facts.queued is not None and facts.first is None
    assert [span[:2] for span in await spans_of(stateful, created.id)] == [
        ["call", "replay"],
        ["item", "message"],
    ]


async def test_a_background_response_that_is_cancelled_keeps_its_input(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    created = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
    await stateful.sdk.responses.cancel(created.id)
    (facts,) = await facts_of(stateful)

    assert (facts.id, facts.status, facts.input, facts.model) == (
        created.id,
        "cancelled",
        "Hi",
        "m",
    )
    assert facts.ended is not None and facts.ended >= facts.began


async def test_a_response_over_a_websocket_is_marked(stateful: RunningServer) -> None:
    async with talk(stateful) as one:
        created = await one.created("Hi")
    (facts,) = await facts_of(stateful)

    assert (facts.id, facts.flags, facts.input) == (
        created["id"],
        STORED | STREAM | WEBSOCKET | OWN_ID,
        "Hi",
    )


async def test_a_backend_that_fails_leaves_facts_with_the_error(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer(
        [b'{"error":{"message":"Broken"}}'], "application/json", status=500
    )
    with pytest.raises(APIStatusError):
        await stateful.sdk.responses.create(model="m", input="Hi")
    (facts,) = await facts_of(stateful)

    assert (facts.status, facts.error) == ("failed", "server_error")
    assert [span[5] for span in await spans_of(stateful, facts.id)] == [
        "server_error"
    ] * facts.calls


async def test_an_error_without_a_failed_call_is_recorded_as_its_client_received_it(
    stateful: RunningServer,
) -> None:
    servers = Servers()
    servers.lists["dice"] = ToolListing([], "Unreachable.")
    stateful.parts.run.toolset = Toolset(mcp=servers)
    status, reply = await stateful.post(
        "/responses", json={"model": "m", "input": "Roll", "tools": [MCP]}
    )
    (facts,) = await facts_of(stateful)
    error: Any = reply["error"]
    assert (status, error["type"]) == (424, "external_connector_error")
    assert (facts.status, facts.error, facts.backend) == ("failed", error["code"], "")
    assert facts.output == error["message"]


async def test_a_rejection_is_recorded_as_its_client_received_it(
    stateful: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = {"error": {"code": "context_length_exceeded", "message": "8192 tokens"}}
    backend.script = lambda _: Answer([json.dumps(refusal).encode()], JSON, 400)
    status, reply = await stateful.post("/responses", json={"model": "m", "input": "Hi"})
    (facts,) = await facts_of(stateful)
    error: Any = reply["error"]
    assert (status, facts.status, facts.error) == (400, "failed", "context_length_exceeded")
    assert (facts.error, facts.output) == (error["code"], error["message"])
    ((*_, error_of_call),) = await spans_of(stateful, facts.id)
    assert error_of_call == "400"
    assert "The response failed" not in caplog.text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_that_is_not_the_clients_is_logged_once(
    stateful: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    caplog.set_level("INFO")
    backend.script = lambda _: Answer([b"{}"], JSON, 500)
    await stateful.post("/responses", json={"model": "m", "input": "Hi", "stream": stream})
    (facts,) = await facts_of(stateful)
    assert (facts.status, facts.error) == ("failed", "server_error")
    (line,) = [one for one in caplog.records if "The response failed" in one.getMessage()]
    assert line.levelname == "INFO" and "'replay'" in line.getMessage()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_fault_of_antiphon_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield sse(delta(content="Once "), done=False)
        raise KeyError("a fault")

    async def post(path: str, body: bytes) -> Reply:
        return Reply(200, {"content-type": "text/event-stream"}, broken())

    caplog.set_level("INFO")
    backend = ScriptedBackend([], models=["m"])
    monkeypatch.setattr(backend, "post", post)
    async with serve(backend, facts=True) as server:
        body = {"model": "m", "input": "Hi", "stream": stream}
        async with server.http.post(f"{server.url}/responses", json=body) as response:
            await response.text()
        (facts,) = await facts_of(server)

    assert (facts.status, facts.error) == ("failed", "server_error")
    failures = [one for one in caplog.messages if "fault" in one or "failed" in one]
    assert failures == ["A fault in Antiphon"]


async def test_the_tools_that_were_called_are_named(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    backend.script = lambda _: Answer([sse(delta(tool_calls=[call]), delta("tool_calls"))])
    tools: Any = [{"type": "function", "name": "look", "parameters": {}, "strict": False}]
    await stateful.sdk.responses.create(model="m", input="Hi", tools=tools)
    (facts,) = await facts_of(stateful)

    assert facts.tools == " function look "


async def test_a_deleted_response_has_numbers_only(stateful: RunningServer) -> None:
    created = await stateful.sdk.responses.create(model="m", input="Hi")
    await stateful.sdk.responses.delete(created.id)

    assert (await stateful.parts.store.read(facts_page.page, "", FactsQuery(100))).facts == []
    assert await stateful.parts.store.read(stored_facts.spans, "", created.id) is None
    assert (await stateful.parts.store.inspect())["facts"] == 1


async def test_without_the_setting_nothing_is_stored(backend: ReplayBackend) -> None:
    async with serve(HttpBackend("replay", backend.url), facts=False) as server:
        for store in (True, False):
            await server.sdk.responses.create(model="m", input="Hi", store=store)
        await server.sdk.responses.create(model="m", input="Hi", background=True)
        assert (await server.parts.store.inspect())["facts"] == 0


async def test_what_is_not_written_yet_is_written_when_the_server_ends(
    backend: ReplayBackend, tmp_path: Any
) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    for _ in range(2):
        async with serve(HttpBackend("replay", backend.url), store=url) as server:
            await server.sdk.responses.create(model="m", input="Hi", store=False)
    async with serve(HttpBackend("replay", backend.url), store=url) as server:
        assert len((await server.parts.store.read(facts_page.page, "", FactsQuery(9))).facts) == 2


async def test_facts_wait_for_a_store_that_fails(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = server.parts.store
    tries = 0

    async def fail_once(facts: Sequence[Facts]) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StoreError("The store is busy.")
        await put(facts)

    monkeypatch.setattr(facts_writer, "TRY_AGAIN", 0.01)
    put = replace_operation(store, stored_facts.put_new, fail_once)
    await server.sdk.responses.create(model="m", input="Hi", store=False)
    (found,) = await facts_of(server)

    assert (found.status, tries) == ("completed", 2)
    assert "; retrying: The store is busy." in caplog.text


async def test_facts_that_the_store_rejects_hold_up_no_others(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = server.parts.store
    writer = facts_writer.FactsWriter(store)
    created = [new_facts(tenant="acme") for _ in range(5)]

    async def reject_one(facts: Sequence[Facts]) -> None:
        if created[1] in facts:
            raise StoreError("The store operation failed.")
        await put(facts)

    monkeypatch.setattr(facts_writer, "TRY_AGAIN", 0.001)
    put = replace_operation(store, stored_facts.put_new, reject_one)
    for one in created:
        writer.add(one)
    await until(lambda: "dropping them" in caplog.text)
    found = {one.id for one in (await store.read(facts_page.page, "acme", FactsQuery(9))).facts}

    assert found == {one.id for one in created} - {created[1].id}
    await writer.close()


async def test_facts_that_are_dropped_or_lost_are_reported(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = server.parts.store
    writer = facts_writer.FactsWriter(store)
    is_down = True

    async def fail(facts: Sequence[Facts]) -> None:
        if is_down:
            raise StoreError("The store is busy.")
        await put(facts)

    for name, value in (("MOST_WAITING", 2), ("SOON", 0.001), ("TRY_AGAIN", 0.001)):
        monkeypatch.setattr(facts_writer, name, value)
    put = replace_operation(store, stored_facts.put_new, fail)
    for _ in range(5):
        writer.add(new_facts(tenant="acme"))
    assert caplog.text.count("those of further responses are dropped") == 1
    is_down = False
    await until(lambda: "The facts of 3 responses were dropped." in caplog.text)

    is_down = True
    writer.add(new_facts(tenant="acme"))
    await writer.close()
    assert "The facts of 1 responses are lost" in caplog.text
    assert "before the shutdown: The store is busy." in caplog.text


async def test_a_backend_that_reports_any_number_of_tokens_is_counted_within_bounds(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    for tokens in (2**52, 2**52, -5):
        answer = completion("Hi").replace(b'"prompt_tokens": 5', b'"prompt_tokens": %d' % tokens)
        backend.script = lambda _, answer=answer: Answer([answer], JSON)
        await stateful.sdk.responses.create(model="m", input="Hi")
    counts = sorted(one.input_tokens for one in await facts_of(stateful))

    assert counts == [0, MOST_TOKENS, MOST_TOKENS]
