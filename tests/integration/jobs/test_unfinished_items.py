"""A background response that is cancelled in the middle of an item: what there is of it stays,
closed as incomplete.

On both stores, streamed and polled, cancelled at the replica that makes the response and at another
one.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.jobs import recorder
from antiphon.storage.operations import event_log, jobs
from antiphon.testing import check_event_stream
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.registry import Toolset
from tests.support.parts import scripted_parts
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer
from tests.support.tools import MCP, Servers, Web
from tests.support.waiting import eventually, until

OF_A_CANCEL = {"terminal:status-matches-type", "incomplete:reason", "usage:present"}
"""What a cancelled stream breaks: the API has no event for it, so it ends with
`response.incomplete`.
"""

WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
NOTE = {"type": "custom", "name": "note"}
SHELL = {"type": "shell", "environment": {"type": "local"}}
PATCH = {"type": "apply_patch"}

Cancel = Callable[[str], Awaitable[dict[str, Any]]]


@pytest.fixture(params=["the same replica", "another replica"])
def cancel(request: pytest.FixtureRequest, stateful: RunningServer) -> Cancel:
    """Cancel a response where it is made, or at a server that knows of it by the store alone."""

    async def here(response_id: str) -> dict[str, Any]:
        return (await stateful.post(f"/responses/{response_id}/cancel"))[1]

    async def elsewhere(response_id: str) -> dict[str, Any]:
        other, _ = scripted_parts(store=stateful.parts.store)
        return await Gateway(other).queue.cancel("", response_id)

    return here if request.param == "the same replica" else elsewhere


@pytest.fixture(params=[True, False], ids=["streamed", "polled"])
def stream(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(recorder, "VISIBLE_AFTER", 0.0)
    return bool(request.param)


def call(name: str, arguments: str, index: int = 0) -> dict[str, Any]:
    one = {
        "index": index,
        "id": f"call_{index}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return delta(tool_calls=[one])


def states(backend: ReplayBackend, *chunks: dict[str, Any]) -> None:
    """Have the model say this, and nothing more."""
    backend.script = lambda request: Answer([sse(*chunks, done=False)], wait=asyncio.Event())


class Stuck:
    """Tools that never return; they count the calls."""

    def __init__(self, server: RunningServer) -> None:
        self.calls = 0
        self.servers = Servers(roll=self.hang)
        self.web = Web()
        self.web.run = self.hang  # type: ignore[method-assign]
        server.parts.run.toolset = Toolset(mcp=self.servers, web_search=self.web)

    async def hang(self, use: Use) -> ToolOutcome:
        self.calls += 1
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def until(self, calls: int) -> None:
        await until(lambda: self.calls >= calls)


async def begin(server: RunningServer, stream: bool, **body: Any) -> str:
    body = {"model": "m", "input": "Hi", "background": True, "stream": stream, **body}
    if not stream:
        return str((await server.post("/responses", json=body))[1]["id"])
    async with server.http.post(f"{server.url}/responses", json=body) as response:
        first = await response.content.readuntil(b"\n\n")
    return str(json.loads(first.split(b"data: ")[1])["response"]["id"])


async def until_logged(server: RunningServer, response_id: str, mark: str) -> None:
    """Wait until the store has an event with this in it."""
    await eventually(
        lambda: server.parts.store.read(event_log.tail, "", response_id, -1),
        lambda tail: tail and mark.encode() in b"".join(frame.body for frame in tail.frames),
    )


async def check(
    server: RunningServer, response_id: str, cancelled: dict[str, Any], stream: bool
) -> list[dict[str, Any]]:
    """The output of a response that was cancelled: the same in every place, and its stream
    sound.
    """
    assert cancelled["status"] == "cancelled"
    _, found = await server.get(f"/responses/{response_id}")
    assert found == cancelled
    assert (await server.post(f"/responses/{response_id}/cancel"))[1] == cancelled
    if stream:
        async with server.http.get(f"{server.url}/responses/{response_id}?stream=true") as response:
            lines = (await response.read()).split(b"\n")
        events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
        broken = {each.rule: str(each) for each in check_event_stream(events)}
        assert broken.keys() <= OF_A_CANCEL, broken
        assert events[-1]["response"]["output"] == cancelled["output"]
    else:
        tail = await server.parts.store.read(event_log.tail, "", response_id, -1)
        assert tail is not None
        assert tail.frames == []
    return list(cancelled["output"])


async def test_an_mcp_call_in_progress(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool
) -> None:
    tools = Stuck(stateful)
    backend.script = lambda request: Answer(
        [sse(call("dice__roll", '{"e":"2d4"}'), delta("tool_calls"))]
    )
    response_id = await begin(stateful, stream, tools=[MCP])
    await tools.until(1)
    listed, called = await check(stateful, response_id, await cancel(response_id), stream)

    assert listed["type"] == "mcp_list_tools"
    assert {
        name: called[name]
        for name in ("type", "status", "name", "arguments", "server_label", "output")
    } == {
        "type": "mcp_call",
        "status": "incomplete",
        "name": "roll",
        "arguments": '{"e":"2d4"}',
        "server_label": "dice",
        "output": None,
    }


async def test_calls_that_wait_behind_the_one_in_progress(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool
) -> None:
    tools = Stuck(stateful)
    tools.servers.answers = {"roll": tools.hang, "flip": "heads"}
    calls = [
        call("dice__roll", '{"e":"1"}'),
        call("dice__flip", "{}", 1),
        call("web_search", '{"query":"q"}', 2),
    ]
    backend.script = lambda request: Answer([sse(*calls, delta("tool_calls"))])
    response_id = await begin(stateful, stream, tools=[MCP, {"type": "web_search"}])
    await tools.until(2)
    await eventually(
        lambda: stateful.parts.store.read(jobs.find_job, "", response_id),
        lambda job: b"heads" in (job.checkpoint if job else b""),
    )
    _, rolled, flipped, searched = await check(
        stateful, response_id, await cancel(response_id), stream
    )

    assert (rolled["type"], rolled["status"], rolled["arguments"]) == (
        "mcp_call",
        "incomplete",
        '{"e":"1"}',
    )
    assert (flipped["name"], flipped["status"], flipped["output"]) == ("flip", "completed", "heads")
    assert (searched["type"], searched["status"]) == ("web_search_call", "incomplete")


async def test_a_search_in_progress(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool
) -> None:
    tools = Stuck(stateful)
    backend.script = lambda request: Answer(
        [sse(call("web_search", '{"query":"q"}'), delta("tool_calls"))]
    )
    response_id = await begin(stateful, stream, tools=[{"type": "web_search"}])
    await tools.until(1)
    (item,) = await check(stateful, response_id, await cancel(response_id), stream)

    assert (item["type"], item["status"], item["action"]["type"]) == (
        "web_search_call",
        "incomplete",
        "search",
    )


async def test_a_list_in_progress(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool
) -> None:
    servers = Servers()

    async def never(*arguments: Any) -> Any:
        await asyncio.Event().wait()

    servers.list = never  # type: ignore[assignment, method-assign]
    stateful.parts.run.toolset = Toolset(mcp=servers)
    response_id = await begin(stateful, stream, tools=[MCP])
    await until_logged(stateful, response_id, "mcp_list_tools.in_progress")
    (item,) = await check(stateful, response_id, await cancel(response_id), stream)

    assert (item["type"], item["tools"]) == ("mcp_list_tools", [])
    assert "before the list came" in item["error"]


PARTIAL: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str, dict[str, Any]]] = {
    "message": (
        {},
        [delta(content="Once "), delta(content="upon")],
        '"delta":"upon"',
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "Once upon", "annotations": [], "logprobs": []}
            ],
        },
    ),
    "refusal": (
        {},
        [delta(refusal="I can"), delta(refusal="not")],
        '"delta":"not"',
        {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]},
    ),
    "reasoning": (
        {},
        [delta(reasoning_content="Hm, "), delta(reasoning_content="well")],
        '"delta":"well"',
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm, well"}]},
    ),
    "summary": (
        {"reasoning": {"summary": "auto"}},
        [delta(reasoning_content="Hm, "), delta(reasoning_content="well")],
        '"delta":"well"',
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm, well"}]},
    ),
    "function call": (
        {"tools": [WEATHER]},
        [call("weather", '{"city":"Pa')],
        'Pa"',
        {
            "type": "function_call",
            "name": "weather",
            "call_id": "call_0",
            "arguments": '{"city":"Pa',
        },
    ),
    "function call in parts": (
        {"tools": [WEATHER]},
        [
            call("weather", '{"city":'),
            delta(tool_calls=[{"index": 0, "function": {"arguments": '"Pa'}}]),
        ],
        'Pa"',
        {
            "type": "function_call",
            "name": "weather",
            "call_id": "call_0",
            "arguments": '{"city":"Pa',
        },
    ),
    "custom call": (
        {"tools": [NOTE]},
        [call("note", '{"input":"milk and ')],
        "milk and",
        {"type": "custom_tool_call", "name": "note", "input": "milk and "},
    ),
    "shell call": (
        {"tools": [SHELL]},
        [call("shell", '{"commands":["ls","cat a')],
        "cat a",
        {"type": "shell_call", "call_id": "call_0"},
    ),
    "patch": (
        {"tools": [PATCH]},
        [call("apply_patch", '{"type":"create_file","path":"a","diff":"+mi')],
        "+mi",
        {"type": "apply_patch_call", "call_id": "call_0"},
    ),
}
"""Of each kind: the request, what the model says, the event that is waited for, and what is
left.
"""


@pytest.mark.wide("postgres")
@pytest.mark.parametrize("kind", PARTIAL)
async def test_a_cancelled_response_keeps_partial_output_of_the_model(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool, kind: str
) -> None:
    body, chunks, mark, left = PARTIAL[kind]
    states(backend, *chunks)
    response_id = await begin(stateful, stream, **body)
    await until_logged(stateful, response_id, mark)
    (item,) = await check(stateful, response_id, await cancel(response_id), stream)

    assert item["status"] == ("in_progress" if kind == "patch" else "incomplete")
    assert {name: item[name] for name in left} == left


async def test_items_that_were_done_stay_complete(
    stateful: RunningServer, backend: ReplayBackend, cancel: Cancel, stream: bool
) -> None:
    states(backend, delta(reasoning_content="Hm."), delta(content="Well, "), delta(content="yes"))
    response_id = await begin(stateful, stream)
    await until_logged(stateful, response_id, '"delta":"yes"')
    reasoning, message = await check(stateful, response_id, await cancel(response_id), stream)

    assert (reasoning["status"], reasoning["content"][0]["text"]) == ("completed", "Hm.")
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "Well, yes")
