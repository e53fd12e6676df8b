"""kill -9 between a tool's call and the model's next one: no call is made twice, and every response
ends.

100 kills in `make test-faults`, some in `make test-system`. Each response is taken from its worker
at the moment at which its first call was answered, or a little later; so the call is done, and what
it gave is kept or is not.
"""

import asyncio
import json
import os
import random
import re
import signal
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.testing import assert_event_stream
from tests.support.chance import SEED
from tests.support.command import Serving, pids_below, serving
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.system.faults.till import charging, owner_of, receipt

IS_LONG = "ANTIPHON_NEMESIS_SECONDS" in os.environ
KILLS = 100 if IS_LONG else 8

SERVERS = 4 if IS_LONG else 2
"""A server replaces one dead worker a second."""
WORKERS = 2
LATEST = 0.2
"""Seconds after the answer of a call in which its worker is killed; the model says nothing
meanwhile.
"""
PATIENCE = 400.0

SETTINGS = """
outgoing_networks = ["127.0.0.0/8"]
background_jobs = 1
store_connections = 2
check_interval = 0
connect_timeout = 60
"""
"""A machine on which dozens of processes begin is slow to answer, which is not what is looked for
here.
"""
OPEN = ("queued", "in_progress")


def next_answer(request: dict[str, Any]) -> Answer:
    """Charge twice, one after the other, then say what came of it."""
    messages = request["messages"]
    (question,) = [message["content"] for message in messages if message["role"] == "user"]
    content = [message["content"] for message in messages if message["role"] == "tool"]
    if len(content) == 2 or not request.get("tools"):
        text = " and ".join(content)
        calls = []
    else:
        key = json.dumps({"key": f"{question}-{len(content) + 1}"})
        function = {"name": request["tools"][0]["function"]["name"], "arguments": key}
        text = ""
        calls = [
            {"index": 0, "id": f"call_{len(content)}", "type": "function", "function": function}
        ]
    reason = "tool_calls" if calls else "stop"
    chunks = [
        sse(delta(content=text), *(delta(tool_calls=[call]) for call in calls), delta(reason))
    ]
    return Answer([], wait=pause(LATEST), rest=chunks) if content else Answer(chunks)


def pause(seconds: float) -> asyncio.Event:
    """An event that is set after so many seconds."""
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, event.set)
    return event


@dataclass
class Killer:
    """Kills whoever made a response's first call, once."""

    servers: list[Serving]
    dice: random.Random
    killed: dict[str, float] = field(default_factory=dict)
    """By the response's question: how long after the answer."""

    async def __call__(self, key: str, port: int) -> None:
        question, _, number = key.rpartition("-")
        if number != "1" or question in self.killed or len(self.killed) >= KILLS:
            return
        workers = [pid for server in self.servers for pid in pids_below(server.process.pid)]
        pid = owner_of(port, workers)
        assert pid is not None, f"nobody made the call of {key}"
        self.killed[question] = wait = self.dice.choice((0.0, self.dice.uniform(0, LATEST)))
        await asyncio.sleep(wait)
        os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def workers_on(store: str, folder: Path, model: str) -> AsyncIterator[list[Serving]]:
    """Servers of several workers each, on one store."""
    (folder / "antiphon.toml").write_text(SETTINGS)
    flags = ("--port", "0", "--backend", model, "--store", store, "--workers", str(WORKERS))
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(serving(folder, *flags))  # it makes the schema
        others = (stack.enter_async_context(serving(folder, *flags)) for _ in range(SERVERS - 1))
        servers = [first, *[await one for one in others]]
        try:
            yield servers
        finally:
            for server in servers:
                assert (await server.stop(signal.SIGTERM)).code == 0


async def ended(http: aiohttp.ClientSession, server: Serving, response_id: str) -> dict[str, Any]:
    """Wait for a response's end."""
    while True:
        try:
            async with http.get(f"{server.url}/responses/{response_id}") as response:
                found: dict[str, Any] = await response.json()
            if response.status == 200 and found["status"] not in OPEN:
                return found
        except aiohttp.ClientError:
            """The worker that was asked was killed."""
        await asyncio.sleep(0.2)


async def replayed(
    http: aiohttp.ClientSession, server: Serving, response_id: str
) -> list[dict[str, Any]]:
    """The events of a response that has ended."""
    async with http.get(f"{server.url}/responses/{response_id}?stream=true") as response:
        body = await response.read()
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")]


async def begin(
    http: aiohttp.ClientSession, server: Serving, question: str, tool: dict[str, Any]
) -> str:
    """Leave a response in the background, streamed, so that its events are kept; return its id."""
    body = {"model": "m", "input": question, "tools": [tool], "background": True, "stream": True}
    async with http.post(
        f"{server.url}/responses", json=body, headers={"idempotency-key": question}
    ) as response:
        seen = await response.content.readuntil(b"\n\n")
    found = re.search(rb'"id":"(resp_\w+)"', seen)
    assert found is not None, seen
    return found[1].decode()


@pytest.mark.timeout(PATIENCE + 200)
async def test_no_call_runs_twice_however_often_its_worker_is_killed(
    tmp_path: Path, store_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(SEED)
    questions = [f"q{number}" for number in range(KILLS + KILLS // 4)]
    async with ReplayBackend(next_answer).serve() as model, charging() as till:
        tool = {
            "type": "mcp",
            "server_label": "till",
            "server_url": till.url,
            "require_approval": "never",
        }
        async with (
            workers_on(store_url, tmp_path, model.url) as servers,
            aiohttp.ClientSession() as http,
        ):
            till.after = killer = Killer(servers, dice)
            began = time.monotonic()
            ids = {
                question: await begin_anyhow(http, servers, question, tool)
                for question in questions
            }
            async with asyncio.timeout(PATIENCE):
                waiting = [ended(http, servers[0], response_id) for response_id in ids.values()]
                responses = dict(zip(questions, await asyncio.gather(*waiting), strict=True))
            took = time.monotonic() - began
            streams = {
                question: await replayed(http, servers[0], ids[question]) for question in questions
            }
    for question in questions:
        assert_is_whole(responses[question], question)
    lost = [
        question for question in questions if first_call(responses[question])["status"] == "failed"
    ]
    with capsys.disabled():
        print(
            f"\nseed {SEED}: {len(killer.killed)} workers killed after a call, {len(till.charged)} "
            f"calls, none twice; of those killed for, {len(killer.killed) - len(lost)} went on "
            f"with what the call gave, {len(lost)} without; everything ended after {took:.1f} s"
        )

    assert len(killer.killed) == KILLS
    assert {key: times for key, times in till.charged.items() if times > 1} == {}
    assert till.charged.keys() == {
        f"{question}-{number}" for question in questions for number in (1, 2)
    }
    assert set(lost) <= killer.killed.keys()
    for question in questions:
        numbered = [
            event | {"sequence_number": number} for number, event in enumerate(streams[question])
        ]
        assert_event_stream(
            numbered
        )  # where something was half made, its numbers have gone with it
        assert streams[question][-1]["response"]["output"] == responses[question]["output"]


async def begin_anyhow(
    http: aiohttp.ClientSession, servers: Iterable[Serving], question: str, tool: dict[str, Any]
) -> str:
    """Begin a response, asking again where a worker is killed that was asked."""
    for server in [*servers] * 20:
        try:
            return await begin(http, server, question, tool)
        except (aiohttp.ClientError, asyncio.IncompleteReadError):
            continue
    raise AssertionError(f"{question} could not be begun")


def first_call(response: dict[str, Any]) -> dict[str, Any]:
    """The first call of a response."""
    call: dict[str, Any] = next(item for item in response["output"] if item["type"] == "mcp_call")
    return call


def assert_is_whole(response: dict[str, Any], question: str) -> None:
    """A response has completed, with its two calls in order; of one that was interrupted the client
    and the model know.
    """
    kinds = [item["type"] for item in response["output"]]
    assert response["error"] is None, (question, response["error"])
    assert "error" not in response["output"][0], (question, response["output"])
    assert (response["status"], kinds) == (
        "completed",
        ["mcp_list_tools", "mcp_call", "mcp_call", "message"],
    )
    _, *calls, message = response["output"]
    reported = message["content"][0]["text"].split(" and ")
    for number, (call, stated) in enumerate(zip(calls, reported, strict=True), 1):
        key = f"{question}-{number}"
        assert json.loads(call["arguments"]) == {"key": key}
        if call["status"] == "completed":
            assert (call["output"], stated) == (receipt(key), receipt(key))
        else:
            assert call["error"]["message"] == INTERRUPTED
            assert INTERRUPTED in stated
