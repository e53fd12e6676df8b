"""A background response whose worker dies between a call and what follows it: no call is made
twice, and it ends.
"""

import asyncio
import itertools
import json
from typing import Any, cast

import msgspec
import pytest

from antiphon.access.keyring import Keyring
from antiphon.build.parts import ToolParts, parts_of
from antiphon.build.tools import outside_tools_of
from antiphon.config import Settings
from antiphon.errors import StoreError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs.worker import Worker
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.search.contract import SearchRequest, SearchResults
from antiphon.storage.operations import event_log, jobs, leases, responses
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolListing, ToolOutcome, Use
from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.changed_stores import replace_operation
from tests.support.parts import NOW, called, foundation, query, stated
from tests.support.replay import delta, sse
from tests.support.shelves import STORE, Shelves, hit
from tests.support.tools import MCP, ROLL, Servers, Web, output
from tests.support.waiting import eventually, until

ROLLS = called("dice__roll", '{"e": "2d4"}')
numbers = itertools.count(1)
KEYRING = Keyring()


async def queue(created: Parts, **body: Any) -> str:
    raw = msgspec.json.encode(
        {"model": "m", "input": "Hi", "background": True, "stream": True, **body}
    )
    return (await Gateway(created).queue.enqueue(decode_request(raw), raw)).response.id


async def ended(created: Parts, response_id: str) -> dict[str, Any]:
    """The response once it has ended."""
    stored = await eventually(
        lambda: created.store.read(responses.load, "", response_id),
        lambda one: one and one.status not in ("queued", "in_progress"),
    )
    assert stored is not None
    output = [json.loads(item.body) for item in stored.output]
    return {**json.loads(stored.body), "output": output}


async def reported(created: Parts, response_id: str) -> list[dict[str, Any]]:
    """Its events, as they are replayed, numbered anew: numbers that were given out once are not
    given again.
    """
    tail = await created.store.read(event_log.tail, "", response_id, -1)
    assert tail is not None
    lines = b"".join(frame.body for frame in tail.frames).decode().splitlines()
    events = [
        json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


class Dies:
    """A worker that is killed once so many calls of the model were asked for: its last one is never
    answered.
    """

    def __init__(
        self,
        store: SqliteStore,
        servers: Servers,
        *answers: Any,
        web: Web | None = None,
        shelves: Shelves | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.backend = ScriptedBackend(
            [sse(*one) if isinstance(one, list) else one for one in answers], models=["m"]
        )
        base = foundation(
            ModelRegistry([self.backend], lambda: NOW, {self.backend.name: "generic"}),
            store,
            settings,
        )
        number = next(numbers)
        ids = itertools.count(1)
        base.keyring, base.new_id = (
            KEYRING,
            lambda prefix: f"{prefix}_{number:016x}{next(ids):016x}",
        )
        self.parts = parts_of(base, ToolParts(outside_tools_of(base.settings, {})))
        files = FileSearch(shelves or Shelves())
        self.parts.run.toolset = Toolset(
            mcp=servers,
            web_search=web or Web(),
            file_search=files,
            images=self.parts.run.toolset.images,
            needs_lists=False,
        )
        self.worker = Worker(self.parts.jobs)

    async def die(self) -> None:
        """As by `kill -9`: nothing is written any more, and the others bury it."""
        tasks = [*self.worker._running.values(), *self.worker._claiming, *self.worker._beating]
        store = self.parts.store
        deaf = cast("Any", _Deaf())
        self.parts.jobs.store = self.parts.run.store = deaf
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await store.write(leases.beat, self.parts.process.worker)
        beats = await store.read(leases.beats)
        await store.write(
            leases.expire_worker, self.parts.process.worker, beats[self.parts.process.worker]
        )


class _Deaf:
    def __getattr__(self, name: str) -> Any:
        async def nothing(*arguments: Any, **named: Any) -> None:
            raise StoreError("The dead write nothing.")

        return nothing


class Hangs:
    """Makes the model silent from its so-manieth call on, and tells when it was asked."""

    def __init__(self, backend: Any, first: int) -> None:
        self.requested = asyncio.Event()
        self._left = first
        self._post = backend.post
        backend.post = self.post

    async def post(self, path: str, body: bytes) -> Any:
        if self._left == 0:
            self.requested.set()
            await asyncio.Event().wait()
        self._left -= 1
        return await self._post(path, body)


async def test_a_completed_call_is_not_run_again() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    first = Dies(store, servers, [*ROLLS, {"choices": [], "usage": usage}], stated("never"))
    hangs = Hangs(first.backend, 1)
    first.worker.start()
    response_id = await queue(first.parts, tools=[MCP])
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await first.die()

    second = Dies(store, servers, stated("5"))
    second.worker.start()
    response = await ended(second.parts, response_id)

    assert response["status"] == "completed"
    assert [item["type"] for item in response["output"]] == [
        "mcp_list_tools",
        "mcp_call",
        "message",
    ]
    assert response["output"][1]["output"] == "5"
    assert response["usage"]["total_tokens"] >= 30
    assert len(servers.used) == 1
    assert second.backend.requests[0]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "5",
    }
    assert_event_stream(await reported(second.parts, response_id))
    await second.worker.close()


async def test_events_from_before_a_crash_are_unchanged_at_the_end() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    first = Dies(store, Servers(), ROLLS, stated("never"))
    hangs = Hangs(first.backend, 1)
    first.worker.start()
    response_id = await queue(first.parts, tools=[MCP])
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await eventually(
        lambda: store.read(responses.load, "", response_id), lambda one: len(one.output) >= 2
    )  # type: ignore[union-attr]
    await first.die()

    second = Dies(store, Servers(), stated("5"))
    second.worker.start()
    response = await ended(second.parts, response_id)
    events = await reported(second.parts, response_id)

    assert events[-1]["response"]["output"] == response["output"]
    assert "encrypted_content" not in response["output"][1]
    await second.worker.close()


def announced(events: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Each announced item: its output index, its type and its id."""
    return [
        (event["output_index"], event["item"]["type"], event["item"]["id"])
        for event in events
        if event["type"] == "response.output_item.added"
    ]


@pytest.mark.parametrize("hint", [None, {"readOnlyHint": True}])
async def test_a_call_in_progress_is_repeated_only_if_it_is_idempotent(hint: Any) -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    reached = asyncio.Event()
    servers.lists["dice"] = ToolListing([{**ROLL, "annotations": hint}])

    async def hang(use: Use) -> ToolOutcome:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    servers.answers = {"roll": hang}
    first = Dies(store, servers, ROLLS)
    first.worker.start()
    response_id = await queue(first.parts, tools=[MCP])
    await asyncio.wait_for(reached.wait(), 30)
    before = announced(await reported(first.parts, response_id))
    await first.die()

    servers.answers = {"roll": "5"}
    second = Dies(store, servers, stated("Done."))
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    call = response["output"][1]
    assert (response["status"], len(response["output"])) == ("completed", 3)
    if hint:
        assert (call["status"], call["output"], len(servers.used)) == ("completed", "5", 2)
    else:
        assert (call["status"], len(servers.used)) == ("failed", 1)
        assert call["error"]["message"] == INTERRUPTED
    events = await reported(second.parts, response_id)
    assert_event_stream(events)
    (listed, interrupted), after = before, announced(events)
    # The interrupted call begins again in its place, as a new item.
    assert (after[0], after[1][:2]) == (listed, interrupted[:2])
    assert after[1][2] == call["id"] != interrupted[2]


async def test_a_call_in_progress_is_continued_although_the_cache_has_an_answer_meanwhile() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    body = {"tools": [{"type": "web_search"}], "antiphon": {"cache": True}}
    web = Web()
    reached = asyncio.Event()

    async def hang(use: Use) -> ToolOutcome:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    searches = Web()
    searches.run = hang  # type: ignore[method-assign]
    first = Dies(store, Servers(), called("web_search", '{"query": "x"}'), web=searches)
    first.worker.start()
    response_id = await queue(first.parts, stream=False, **body)
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()

    second = Dies(store, Servers(), stated("Cached."), stated("Found."), web=web)
    await query(second.parts, input="Hi", **body)
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    kinds = [item["type"] for item in response["output"]]
    assert (response["status"], kinds) == ("completed", ["web_search_call", "message"])
    assert response["output"][1]["content"][0]["text"] == "Found."
    assert len(web.used) == 1


async def test_of_calls_side_by_side_the_one_that_ended_keeps_its_result() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    reached = asyncio.Event()

    async def hang(use: Use) -> ToolOutcome:
        await asyncio.Event().wait()
        raise AssertionError

    servers.answers = {"slow": hang, "quick": lambda use: output("quick")}
    each = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": "{}"},
        }
        for at, name in enumerate(("dice__slow", "dice__quick", "look"))
    ]
    answer = [*(delta(tool_calls=[call]) for call in each), delta("tool_calls")]
    first = Dies(store, servers, answer)

    async def advance(job: Any, progress: Any) -> Any:
        done = await put(job, progress)
        if (
            progress.checkpoint
            and b'"quick"' in progress.checkpoint
            and progress.checkpoint.count(b'"is_done":false') == 1
        ):
            reached.set()
        return done

    put = replace_operation(store, jobs.advance, advance)
    first.worker.start()
    mine = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
    response_id = await queue(first.parts, tools=[MCP, mine])
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()

    second = Dies(store, servers)
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    _, slow, quick, poll = response["output"]
    assert (slow["status"], quick["output"], poll["type"]) == ("failed", "quick", "function_call")
    assert [use.name for use in servers.used] == ["slow", "quick"]
    assert response["status"] == "completed"
    assert not second.backend.requests
    assert_event_stream(await reported(second.parts, response_id))


async def test_a_tool_search_next_to_a_call_is_answered_when_the_response_is_resumed() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    reached = asyncio.Event()

    async def hang(use: Use) -> ToolOutcome:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    servers.answers = {"roll": hang}
    each = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for at, (name, arguments) in enumerate(
            (("dice__roll", "{}"), ("tool_search", '{"query": "look"}'))
        )
    ]
    first = Dies(
        store, servers, [*(delta(tool_calls=[call]) for call in each), delta("tool_calls")]
    )
    first.worker.start()
    tool = {
        "type": "function",
        "name": "look",
        "defer_loading": True,
        "parameters": {"type": "object"},
    }
    response_id = await queue(first.parts, tools=[MCP, {"type": "tool_search"}, tool])
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()

    second = Dies(store, servers, stated("Done."))
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    types = [item["type"] for item in response["output"]]
    assert types == [
        "mcp_list_tools",
        "mcp_call",
        "tool_search_call",
        "tool_search_output",
        "message",
    ]
    roles = [message["role"] for message in second.backend.requests[0]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]
    assert_event_stream(await reported(second.parts, response_id))


async def test_a_demand_met_before_a_crash_is_not_repeated() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    first = Dies(store, Servers(), called("web_search", '{"query": "q"}'), stated("never"))
    hangs = Hangs(first.backend, 1)
    first.worker.start()
    response_id = await queue(first.parts, tools=[{"type": "web_search"}], tool_choice="required")
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await first.die()

    second = Dies(store, Servers(), stated("5"))
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    assert [item["type"] for item in response["output"]] == ["web_search_call", "message"]
    assert second.backend.requests[0]["tool_choice"] == "auto"
    assert response["tool_usage"]["web_search"] == {"num_requests": 1}


async def test_a_response_that_was_cancelled_while_its_tool_ran_ends_there_and_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    servers.gate = asyncio.Event()
    one = Dies(store, servers, ROLLS, stated("never"))
    one.worker.start()
    response_id = await queue(one.parts, tools=[MCP])
    await until(lambda: servers.used)

    await Gateway(one.parts).queue.cancel("", response_id)
    servers.gate.set()
    await until(lambda: not one.parts.shared.usage()["background_jobs"].in_use)
    response = await ended(one.parts, response_id)
    await one.worker.close()

    assert response["status"] == "cancelled"
    assert (len(one.backend.requests), one.parts.measures.jobs.value("lost")) == (1, 1)
    assert "fault" not in caplog.text


async def test_an_unavailable_list_is_reported_once() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    servers = Servers()
    servers.lists["dice"] = ToolListing(error="The server does not answer.")
    first = Dies(store, servers, stated("never"))
    hangs = Hangs(first.backend, 0)
    first.worker.start()
    response_id = await queue(first.parts, tools=[MCP])
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await eventually(lambda: store.read(responses.load, "", response_id), lambda one: one.output)  # type: ignore[union-attr]
    await first.die()

    second = Dies(store, servers, stated("I have no tools."))
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    assert [item["type"] for item in response["output"]] == ["mcp_list_tools", "message"]
    assert_event_stream(await reported(second.parts, response_id))


FILES = {"type": "file_search", "vector_store_ids": [STORE]}
SEARCHES = called("file_search", '{"queries": ["tides"]}')


async def test_a_completed_file_search_is_not_repeated_and_is_still_cited() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    shelves = Shelves(hit("At nine."))
    first = Dies(store, Servers(), SEARCHES, stated("never"), shelves=shelves)
    hangs = Hangs(first.backend, 1)
    first.worker.start()
    response_id = await queue(first.parts, tools=[FILES], include=["file_search_call.results"])
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await first.die()

    second = Dies(store, Servers(), stated("At nine [1]."), shelves=shelves)
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    search, message = response["output"]
    assert (search["status"], search["queries"], len(search["results"])) == (
        "completed",
        ["tides"],
        1,
    )
    assert message["content"][0]["text"] == "At nine."
    assert message["content"][0]["annotations"][0]["file_id"] == "file-tides"
    assert len(shelves.requested) == 1
    assert_event_stream(await reported(second.parts, response_id))


async def test_an_interrupted_file_search_is_repeated() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    reached = asyncio.Event()

    class Slow(Shelves):
        async def search(self, request: SearchRequest) -> SearchResults:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

    first = Dies(store, Servers(), SEARCHES, shelves=Slow())
    first.worker.start()
    response_id = await queue(first.parts, tools=[FILES])
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()

    second = Dies(store, Servers(), stated("At nine【1】."), shelves=Shelves(hit("At nine.")))
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()

    search, message = response["output"]
    assert (search["status"], search["queries"], search["results"]) == (
        "completed",
        ["tides"],
        None,
    )
    assert message["content"][0]["text"] == "At nine."
    assert_event_stream(await reported(second.parts, response_id))
