"""What the console reads of responses that a server has made."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.console import changes, rebuilt
from antiphon.console.reader import ConsoleReader
from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.protocol.console import AdminResponsesQuery, FiguresParameters
from antiphon.protocol.json_pieces import encode_large
from antiphon.recording.facts import MOST_SENT
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import webhooks
from antiphon.storage.records.facts import BACKGROUND, STORED, Facts
from antiphon.storage.records.tenants import WebhookEndpoint
from antiphon.tools.base import ToolListing
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from tests.store.facts import new_facts
from tests.support.images_server import images_server
from tests.support.parts import called
from tests.support.replay import STREAM, Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.tools import MCP, Servers, Web
from tests.support.waiting import eventually


def reader(server: RunningServer) -> ConsoleReader:
    return Gateway(server.parts).console


async def page(server: RunningServer, **query: Any) -> dict[str, Any]:
    return await reader(server).page(query.get("tenant"), AdminResponsesQuery(**query))


async def facts_of(server: RunningServer, response_id: str) -> Facts:
    return await reader(server).facts(None, response_id)


async def settled(server: RunningServer, count: int) -> list[dict[str, Any]]:
    """The newest rows, once there are so many: facts of what is not stored come a little later."""
    return list(
        (await eventually(lambda: page(server), lambda one: len(one["data"]) >= count))["data"]
    )


async def calls_of(server: RunningServer, response_id: str) -> list[dict[str, Any]]:
    """The requests to the backend for a response, as a client receives them."""
    found = json.loads(
        encode_large(await reader(server).calls(await facts_of(server, response_id)))
    )
    assert found["has_more"] is False
    return list(found["data"])


def sent(backend: ReplayBackend, number: int = -1) -> dict[str, Any]:
    return backend.requests[number]


async def test_a_list_has_what_the_own_tenant_sees_and_more(stateful: RunningServer) -> None:
    created = await stateful.sdk.responses.create(model="m", input="Hi")
    (row,) = (await page(stateful))["data"]
    _, own = await stateful.get("/responses")
    assert own["data"] == [{name: row[name] for name in own["data"][0]}]
    assert (row["id"], row["tenant"], row["api_key_name"], row["cost"]) == (
        created.id,
        "",
        None,
        None,
    )
    assert row["started_ms"] // 1000 == row["created_at"]
    assert (await page(stateful, tenant="other"))["data"] == []


async def test_a_response_that_a_client_waits_for_is_listed_as_running(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = lambda _: Answer(
        [sse(delta(content="Once"), done=False)], wait=go, rest=[text(" more")]
    )
    pending = asyncio.create_task(stateful.sdk.responses.create(model="m", input="Hi", stream=True))
    stream = await pending
    events = aiter(stream)
    await anext(events)
    (running,) = (await page(stateful, q="model:m"))["running"]
    assert (running["status"], running["input"], running["duration_ms"]) == (
        "in_progress",
        "Hi",
        None,
    )
    assert (await page(stateful, q="model:x"))["running"] == []
    found = await reader(stateful).details(None, running["id"])
    assert (found["summary"]["status"], found["body"]) == ("in_progress", "pending")
    figures = await reader(stateful).figures(None, FiguresParameters())
    assert (figures["in_flight"], figures["totals"]["responses"]) == (1, 0)
    go.set()
    async for _ in events:
        pass
    assert (await page(stateful))["running"] == []
    assert (await reader(stateful).details(None, running["id"]))["body"] == "stored"


async def test_a_background_response_has_details_before_its_first_call_ends(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    queued = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
    found = await reader(stateful).details(None, queued.id)
    assert found["has_body"]
    sending = await eventually(
        partial(reader(stateful).details, None, queued.id),
        lambda one: "sending" in one["notes"][0]["text"],
    )
    assert [note["code"] for note in sending["notes"]] == ["waits"]
    (span,) = sending["timeline"]["spans"]
    assert (span["kind"], span["end_us"]) == ("call", None)
    assert sending["summary"]["backend"] == span["name"]
    assert sending["summary"]["queue_ms"] is not None


async def test_details_name_the_backend_that_a_hanging_background_response_waits_for(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = lambda _: Answer([], wait=go, rest=[text("Hello")])
    queued = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
    found = await eventually(
        partial(reader(stateful).details, None, queued.id),
        lambda one: "waits for backend" in one["notes"][0]["text"],
    )
    (span,) = found["timeline"]["spans"]
    assert f"'{span['name']}'" in found["notes"][0]["text"]
    assert found["summary"]["duration_ms"] is None
    with pytest.raises(ClientError):
        await reader(stateful).details("other", queued.id)
    go.set()
    ended = await eventually(
        partial(reader(stateful).details, None, queued.id),
        lambda one: one["summary"]["status"] == "completed",
    )
    assert ended["notes"] == []


async def test_details_state_that_another_process_runs_a_response(stateful: RunningServer) -> None:
    for status, words in (("queued", "with a free slot"), ("in_progress", "Another server")):
        facts = new_facts(status=status, ended=None, flags=BACKGROUND | STORED)
        await stateful.parts.store.write(stored_facts.put_new, [facts])
        (note,) = (await reader(stateful).details(None, facts.id))["notes"]
        assert note["code"] == "waits" and words in note["text"]


async def test_a_webhook_that_did_not_receive_the_end_is_noted(stateful: RunningServer) -> None:
    store = stateful.parts.store
    now = int(time.time())
    place = ("billing", "https://hooks.example/", ("response.completed",))
    await store.write(webhooks.put, WebhookEndpoint("we_1", "", *place, now, now, "whsec_secret"))
    for _ in range(2):
        queued = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
        found = await eventually(
            partial(reader(stateful).details, None, queued.id),
            lambda found: found["summary"]["status"] == "completed",
        )
    stated = "The webhook 'billing' is not yet delivered: 0 attempts so far."
    assert [note for note in found["notes"] if "webhook" in note["code"]] == [
        {"code": "webhook_pending", "text": stated}
    ]
    (newest, _) = await store.read(webhooks.page, "", 9)
    await store.write(webhooks.postpone, newest.id, None, "The server answered 500.")
    (note,) = (await reader(stateful).details(None, queued.id))["notes"]
    assert note["code"] == "webhook_failed" and note["text"].endswith(
        "Last error: The server answered 500."
    )


async def test_a_failover_is_in_the_timeline_and_in_the_notes() -> None:
    broken = ReplayBackend(lambda _: Answer([b"{}"], STREAM, 500))
    whole = ReplayBackend(lambda _: Answer([text("Hello")]))
    async with broken.serve(), whole.serve():
        backends = [HttpBackend(name, one.url) for name, one in (("a", broken), ("b", whole))]
        async with serve(*backends) as backend:
            created = await backend.sdk.responses.create(model="m", input="Hi")
            found = await reader(backend).details(None, created.id)
    spans = [
        (span["kind"], span["name"], bool(span["error"])) for span in found["timeline"]["spans"]
    ]
    assert spans == [("call", "a", True), ("call", "b", False)]
    assert [note["code"] for note in found["notes"]] == ["failover"]
    assert found["notes"][0]["text"].endswith("Backend 'b' was called instead.")
    assert found["has_body"] and not found["has_events"]


async def test_a_response_that_failed_before_it_was_stored_has_no_body(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([b"{}"], STREAM, 500)
    await stateful.post("/responses", json={"model": "m", "input": "Hi"})
    (row,) = await settled(stateful, 1)
    found = await reader(stateful).details(None, row["id"])
    assert (row["status"], found["body"], found["has_body"]) == ("failed", "failed_before", False)
    assert "not_stored" not in [note["code"] for note in found["notes"]]


async def test_a_response_that_ended_before_a_backend_was_called_has_no_call_of_one(
    stateful: RunningServer,
) -> None:
    servers = Servers()
    servers.lists["dice"] = ToolListing([], "Unreachable.")
    stateful.parts.run.toolset = Toolset(mcp=servers)
    tools: Any = [dict(MCP)]
    body = {"model": "m", "input": "Roll", "tools": tools, "stream": True}
    async with stateful.http.post(f"{stateful.url}/responses", json=body) as response:
        assert b"response.failed" in await response.read()
    (row,) = await settled(stateful, 1)
    assert (row["status"], row["backend"], row["calls"]) == ("failed", None, 0)
    assert await calls_of(stateful, row["id"]) == []


async def test_a_chain_is_displayed_with_its_forks(stateful: RunningServer) -> None:
    create = stateful.sdk.responses.create
    root = await create(model="m", input="1")
    middle = await create(model="m", input="2", previous_response_id=root.id)
    forks = [await create(model="m", input=text, previous_response_id=middle.id) for text in "34"]
    found = await reader(stateful).details(None, middle.id)
    assert [one["id"] for one in found["parents"]] == [root.id]
    assert [one["id"] for one in found["children"]] == [one.id for one in forks]
    assert found["siblings"] == []
    fork = await reader(stateful).details(None, forks[1].id)
    assert [one["id"] for one in fork["siblings"]] == [forks[0].id]


async def test_the_content_of_another_tenant_is_unknown(stateful: RunningServer) -> None:
    created = await stateful.sdk.responses.create(model="m", input="Hi")
    console_reader = reader(stateful)
    facts = await console_reader.facts("", created.id)
    for content in (
        console_reader.body,
        console_reader.input_items,
        console_reader.request,
        console_reader.calls,
    ):
        assert await content(facts)
    for read in (console_reader.details, console_reader.facts):
        with pytest.raises(ClientError, match="not found") as caught:
            await read("other", created.id)
        assert caught.value.status == 404


async def test_a_response_that_is_not_stored_has_details_and_no_content(
    stateful: RunningServer,
) -> None:
    created = await stateful.sdk.responses.create(model="m", input="Hi", store=False)
    (row,) = await settled(stateful, 1)
    assert (row["id"], row["input"]) == (created.id, None)
    found = await reader(stateful).details(None, created.id)
    assert [note["code"] for note in found["notes"]] == ["not_stored"]
    assert found["body"] == "not_stored"
    with pytest.raises(ClientError, match="is not stored") as caught:
        await reader(stateful).body(await facts_of(stateful, created.id))
    assert caught.value.code == "not_stored"


async def test_the_request_is_built_again_from_what_is_stored(stateful: RunningServer) -> None:
    tool: Any = {
        "type": "function",
        "name": "look",
        "parameters": {"type": "object", "properties": {}},
    }
    created = await stateful.sdk.responses.create(
        model="m",
        input="Hi",
        instructions="Be brief.",
        temperature=0.5,
        tools=[tool],
        metadata={"a": "b"},
    )
    found = await reader(stateful).request(await facts_of(stateful, created.id))
    request = found["request"]
    assert found["is_rebuilt"] is True
    assert (request["model"], request["instructions"], request["temperature"]) == (
        "m",
        "Be brief.",
        0.5,
    )
    assert request["metadata"] == {"a": "b"} and request["tools"][0]["name"] == "look"
    assert request["input"] == "Hi"
    again = await stateful.sdk.responses.create(**request)
    assert again.output_text == created.output_text


async def test_the_backends_request_is_built_again_as_it_was_sent(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    create = stateful.sdk.responses.create
    first = await create(model="m", input="One", instructions="Be brief.", max_output_tokens=99)
    second = await create(model="m", input="Two", previous_response_id=first.id, temperature=0.5)
    for number, created in enumerate((first, second)):
        (call,) = await calls_of(stateful, created.id)
        assert (call["backend"], call["model"], call["path"]) == (
            "replay",
            "m",
            "/chat/completions",
        )
        assert call["request"] == sent(backend, number)


async def test_the_request_in_a_conversation_has_what_stood_before_it(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    conversation = await stateful.sdk.conversations.create()
    created = [
        await stateful.sdk.responses.create(model="m", input=f"{n}", conversation=conversation.id)
        for n in "123"
    ]
    for number, one in enumerate(created):
        (call,) = await calls_of(stateful, one.id)
        assert call["request"] == sent(backend, number)


async def test_each_call_of_a_loop_of_tools_is_built_again(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    stateful.parts.run.toolset = Toolset(web_search=Web(), mcp=Servers())
    answers = [Answer([sse(*called("dice__roll", '{"e": "2d4"}'))]), Answer([text("Five")])]
    backend.script = lambda _: answers.pop(0)
    created = await stateful.sdk.responses.create(model="m", input="Roll", tools=[dict(MCP)])  # type: ignore[list-item]
    calls = await calls_of(stateful, created.id)
    assert [call["request"] for call in calls] == [sent(backend, 0), sent(backend, 1)]
    spans = (await reader(stateful).details(None, created.id))["timeline"]["spans"]
    assert [span["name"] for span in spans] == ["replay", "dice.roll", "replay"]


async def test_the_calls_around_an_image_are_built_again(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    answers = [
        Answer([sse(*called("image_generation", '{"prompt": "a circle"}'))]),
        Answer([text("Here it is.")]),
    ]
    backend.script = lambda _: answers.pop(0)
    tool: Any = {"type": "image_generation", "size": "1024x1024"}
    async with images_server() as images:
        settings = Settings(images_backend=images.url, images_model="painter")
        parts = await stateful.built_with(settings)
        stateful.parts.run.toolset = Toolset(images=parts.run.toolset.images)
        created = await stateful.sdk.responses.create(model="m", input="Draw", tools=[tool])
        await parts.images.close()
    calls = await calls_of(stateful, created.id)
    assert [call["request"] for call in calls] == [sent(backend, 0), sent(backend, 1)]
    found = await reader(stateful).request(await facts_of(stateful, created.id))
    assert found["request"]["tools"] == [tool]


@pytest.fixture
async def keeping(backend: ReplayBackend, store_url: str) -> AsyncIterator[RunningServer]:
    """A server that keeps the requests to backends."""
    async with serve(HttpBackend("replay", backend.url), store=store_url, bodies=True) as server:
        yield server


async def test_stored_requests_of_the_backends_are_displayed_as_sent(
    keeping: RunningServer, backend: ReplayBackend
) -> None:
    keeping.parts.run.toolset = Toolset(web_search=Web(), mcp=Servers())
    answers = [Answer([sse(*called("dice__roll", '{"e": "2d4"}'))]), Answer([text("Five")])]
    backend.script = lambda _: answers.pop(0)
    created = await keeping.sdk.responses.create(model="m", input="Roll", tools=[dict(MCP)])  # type: ignore[list-item]
    found = await reader(keeping).calls(await facts_of(keeping, created.id))
    assert found["is_rebuilt"] is False
    assert [call["request"] for call in found["data"]] == backend.requests
    assert {(call["backend"], call["model"], call["path"]) for call in found["data"]} == {
        ("replay", "m", "/chat/completions")
    }
    await keeping.sdk.responses.delete(created.id)
    assert await keeping.parts.store.read(stored_facts.bodies, "", created.id) is None


async def test_large_or_unstored_requests_are_not_cached(
    keeping: RunningServer, backend: ReplayBackend
) -> None:
    large = await keeping.sdk.responses.create(model="m", input="x" * MOST_SENT)
    assert (await reader(keeping).calls(await facts_of(keeping, large.id)))["is_rebuilt"] is True
    unstored = await keeping.sdk.responses.create(model="m", input="Hi", store=False)
    await settled(keeping, 2)
    assert await keeping.parts.store.read(stored_facts.bodies, "", unstored.id) is None


async def test_an_argument_with_the_name_of_a_secret_is_no_secret(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    schema = {"type": "object", "properties": {"headers": {"type": "string"}}}
    tool: Any = {"type": "function", "name": "fetch", "parameters": schema, "strict": False}
    created = await stateful.sdk.responses.create(model="m", input="Hi", tools=[tool])
    request = (await reader(stateful).request(await facts_of(stateful, created.id)))["request"]
    (call,) = await calls_of(stateful, created.id)
    assert request["tools"][0]["parameters"] == schema
    assert call["request"] == sent(backend)


async def test_sealed_content_is_not_displayed(stateful: RunningServer) -> None:
    sealed = stateful.parts.run.keyring.seal({"text": "Hm"}, "")
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}
    created = await stateful.sdk.responses.create(
        model="m", input=[thought, {"role": "user", "content": "Hi"}]
    )
    console_reader = reader(stateful)
    facts = await facts_of(stateful, created.id)
    for read in (
        console_reader.body,
        console_reader.input_items,
        console_reader.request,
        console_reader.calls,
    ):
        assert sealed.encode() not in encode_large(await read(facts))


async def test_requests_beyond_a_bound_are_not_built_again(
    stateful: RunningServer, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stateful.parts.run.toolset = Toolset(web_search=Web(), mcp=Servers())
    answers = [Answer([sse(*called("dice__roll", '{"e": "2d4"}'))]), Answer([text("Five")])]
    backend.script = lambda _: answers.pop(0)
    created = await stateful.sdk.responses.create(model="m", input="Roll", tools=[dict(MCP)])  # type: ignore[list-item]
    monkeypatch.setattr(rebuilt, "MOST_BYTES", 1)
    found = await reader(stateful).calls(await facts_of(stateful, created.id))
    assert (len(found["data"]), found["has_more"]) == (1, True)


async def test_all_events_of_a_long_stream_are_read_in_pages(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([text(*["word " * 100] * 300)])
    sent: list[Any] = []
    async with stateful.http.post(
        f"{stateful.url}/responses",
        json={"model": "m", "input": "Hi", "background": True, "stream": True},
    ) as response:
        sent += [
            json.loads(line[6:]) async for line in response.content if line.startswith(b"data: {")
        ]
    found: list[Any] = []
    while True:
        after = found[-1]["sequence_number"] if found else -1
        page = await reader(stateful).events(
            await facts_of(stateful, sent[0]["response"]["id"]), after, 200
        )
        found += page["data"]
        if not page["has_more"]:
            break
        assert len(page["data"]) == 200
    assert found == sent


async def test_figures_count_what_has_ended(stateful: RunningServer) -> None:
    for _ in range(3):
        await stateful.sdk.responses.create(model="m", input="Hi")
    found = await reader(stateful).figures(None, FiguresParameters(by="model"))
    totals = found["totals"]
    assert (totals["responses"], totals["by_status"], totals["input_tokens"]) == (
        3,
        {"completed": 3},
        15,
    )
    assert totals["duration_ms"]["p50"] <= totals["duration_ms"]["p95"] and totals["cost"] is None
    assert sum(bucket["responses"] for bucket in found["buckets"]) == 3
    assert [(group["value"], group["responses"]) for group in found["groups"]] == [("m", 3)]
    assert (await reader(stateful).figures("other", FiguresParameters()))["totals"][
        "responses"
    ] == 0


async def test_figures_name_the_thousand_largest_groups_and_sum_up_the_others(
    stateful: RunningServer,
) -> None:
    names = [f"key_{number}" for number in range(1_002) for _ in range(2 if number else 1)]
    now = int(time.time() * 1000)
    facts = [new_facts(key_id=name, input_tokens=7, began=now, ended=now) for name in names]
    await stateful.parts.store.write(stored_facts.put_new, facts)
    found = await reader(stateful).figures(None, FiguresParameters(by="key"))
    assert {group["responses"] for group in found["groups"]} == {2} and len(
        found["groups"]
    ) == 1_000
    assert (found["rest"]["responses"], found["rest"]["input_tokens"]) == (3, 21)
    assert "rest" not in await reader(stateful).figures(None, FiguresParameters(by="model"))


async def test_figures_count_what_waits_and_what_runs(stateful: RunningServer) -> None:
    states = ("queued", "queued", "in_progress", "completed")
    await stateful.parts.store.write(
        stored_facts.put_new, [new_facts(tenant="acme", status=state) for state in states]
    )
    for tenant in ("acme", None):
        found = await reader(stateful).figures(tenant, FiguresParameters())
        assert (found["queued"], found["in_flight"]) == (2, 1)
    assert (await reader(stateful).figures("other", FiguresParameters()))["queued"] == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"since": 0, "until": 10_000_000, "step": 60}, "Invalid 'step': at most 500 spans"),
        ({"since": 5, "until": 5}, "Invalid 'since': 5 is not before 'until', which is 5.$"),
        ({"since": 9_000_000_000}, r"which is \d+ \(now, by the server's clock\)\.$"),
    ],
    ids=["spans", "empty", "clock"],
)
async def test_figures_of_an_invalid_period_are_rejected(
    stateful: RunningServer, query: dict[str, int], message: str
) -> None:
    with pytest.raises(ClientError, match=message):
        await reader(stateful).figures(None, FiguresParameters(**query))


async def test_a_watcher_sees_what_begins_and_ends(stateful: RunningServer) -> None:
    console_reader = reader(stateful)
    seen = list[tuple[str, str]]()
    async with (
        aclosing(console_reader.watch(None, "model:m")) as watched,
        aclosing(console_reader.watch("other", None)) as of_others,
    ):
        assert not (await anext(watched)).changed and not (await anext(of_others)).changed
        created = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
        async with asyncio.timeout(10):
            while (created.id, "completed") not in seen:
                batch = await anext(watched)
                seen += [(row["id"], row["status"]) for row in map(json.loads, batch.changed)]
                assert batch.skipped == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(of_others)
    assert len(seen) == len(set(seen))


async def test_a_watcher_sees_nothing_of_what_ended_before(stateful: RunningServer) -> None:
    now = int(time.time() * 1000)
    earlier = [new_facts(began=now, ended=now) for _ in range(300)]
    await stateful.parts.store.write(stored_facts.put_new, earlier)
    seen = list[str]()
    async with aclosing(reader(stateful).watch(None, None)) as watched:
        assert not (await anext(watched)).changed
        created = await stateful.sdk.responses.create(model="m", input="Hi", background=True)
        async with asyncio.timeout(10):
            while created.id not in seen:
                batch = await anext(watched)
                assert batch.skipped == 0
                seen += [row["id"] for row in map(json.loads, batch.changed)]
    assert set(seen) == {created.id}


async def test_a_slow_watcher_skips_the_oldest_changes() -> None:
    frames = [b"%d" % number for number in range(changes.MOST_WAITING + 3)]
    watcher = changes.Watcher()
    watcher.see(frames[:2])
    watcher.see(frames[2:])
    batch = watcher.take()
    assert (list(batch.changed), batch.skipped) == (frames[3:], 3)
    assert not watcher.take().changed
