"""The paths that are traced, and the calls of each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.backend import DELTAS
from bench.trace.counter import CallCounter, Calls, Function, files_of_ours
from bench.trace.loopback import STEPS, Client, SteppedBackend, settle
from bench.trace.server import RUN, running
from bench.wire import id_in, request

WARM_UP = 5
"""Requests of each path before any is counted: imports, caches and connections are made then."""

SAMPLES = 20
"""Requests that are counted. The cheapest stands for all: a timer of the server's can only add
calls.
"""

FEW, MANY = 16, 48
"""Deltas of the two stepped streams whose difference is what a lone delta costs."""

PATIENCE = 280.0
"""Seconds until all must be counted."""

PLAIN = "plain"
STORED = "stored"
BURST = "streamed, 256 deltas in few reads"
STEPPED = "streamed, 256 deltas one by one"
DELTA = "lone delta"
BACKGROUND = "background: create, poll, replay"
MESSAGE = "message, plain"
MESSAGE_BURST = "message, streamed, 256 deltas in few reads"
CHAT = "chat, forwarded"
CHAT_RUN = "chat, over a run, plain"
CHAT_RUN_BURST = "chat, over a run, streamed, 256 deltas in few reads"
FACTS = "facts of a plain response"
FACTS_STORED = "facts of a stored response"
FACTS_STREAMED = "facts of a streamed response"
PLAIN_FILES = "files of ours in a plain request"
DELTA_FILES = "files of ours in a lone delta"

Costs = dict[Function, float]
"""Calls by function. Those of a lone delta may be fractions."""

Scenario = Callable[[], Awaitable[None]]


def figures(costs: dict[str, Costs]) -> dict[str, float]:
    """Return the figures that have a budget."""
    files = {PLAIN_FILES: files_of_ours(costs[PLAIN]), DELTA_FILES: files_of_ours(costs[DELTA])}
    return {**sums(costs), **{name: float(len(modules)) for name, modules in files.items()}}


def sums(costs: dict[str, Costs]) -> dict[str, float]:
    """Return all calls of each path."""
    return {path: round(sum(calls.values()), 2) for path, calls in costs.items()}


async def trace(folder: Path) -> dict[str, Costs]:
    """Return what each path costs, with a store in this folder."""
    costs: dict[str, Costs] = {}
    for facts, paths in ((False, _trace), (True, _trace_facts)):
        async with connected(folder, facts=facts) as client:
            # In a task of its own: whatever runs this one is Python too, and would be counted each
            # time it goes on.
            costs |= await asyncio.create_task(paths(Requests(client), costs))
    return costs


@asynccontextmanager
async def connected(folder: Path, *, facts: bool) -> AsyncIterator[Client]:
    """Serve a stepped backend with a store in this folder; give a connection to the server.

    `facts` is the setting.
    """
    loop = asyncio.get_running_loop()
    backend = await loop.create_server(SteppedBackend, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{backend.sockets[0].getsockname()[1]}/v1"
    async with running(url, f"sqlite://{folder}/trace.db", facts=facts) as port:
        _, client = await loop.create_connection(Client, "127.0.0.1", port)
        async with asyncio.timeout(PATIENCE):
            yield client
    backend.close()


async def _trace(requests: "Requests", _: dict[str, Costs]) -> dict[str, Costs]:
    return {
        PLAIN: await cheapest(requests.plain),
        STORED: await cheapest(requests.stored),
        BURST: await cheapest(requests.burst),
        STEPPED: await cheapest(partial(requests.stepped, DELTAS)),
        DELTA: await lone_delta(requests.stepped),
        BACKGROUND: await cheapest(requests.background),
        MESSAGE: await cheapest(requests.message),
        MESSAGE_BURST: await cheapest(requests.message_burst),
        CHAT: await cheapest(requests.chat),
        CHAT_RUN: await cheapest(requests.chat_run),
        CHAT_RUN_BURST: await cheapest(requests.chat_run_burst),
    }


async def _trace_facts(requests: "Requests", without: dict[str, Costs]) -> dict[str, Costs]:
    """Return what the facts and the timeline of a response cost, beside the same request without
    them.
    """
    costs: dict[str, Costs] = {}
    for path, base, sent in (
        (FACTS, PLAIN, requests.plain),
        (FACTS_STORED, STORED, requests.stored),
        (FACTS_STREAMED, BURST, requests.burst),
    ):
        found = await cheapest(sent)
        before = without[base]
        costs[path] = {
            name: cost
            for name in {*found, *before}
            if (cost := found.get(name, 0) - before.get(name, 0))
        }
    return costs


async def lone_delta(stepped: Callable[[int], Awaitable[None]]) -> Costs:
    """Return what each delta costs of a stream with so many that come one by one."""
    few, many = [await cheapest(partial(stepped, deltas)) for deltas in (FEW, MANY)]
    return {name: cost for name in many if (cost := (many[name] - few.get(name, 0)) / (MANY - FEW))}


async def cheapest(
    scenario: Scenario,
    counter: CallCounter | None = None,
    *,
    before: Scenario | None = None,
    warm_up: int = WARM_UP,
    samples: int = SAMPLES,
) -> Costs:
    """Return what the scenario costs; `before` comes before each, and is not counted."""
    counter = counter or CallCounter()
    counted: list[Calls] = []
    for number in range(warm_up + samples):
        if before is not None:
            await before()
            await settle()
        with counter.counting() if number >= warm_up else nullcontext():
            await scenario()
            await settle()
        counted.append(counter.take())
    fewest: Calls = min(counted[warm_up:], key=Calls.total)
    return {**fewest}


class Requests:
    """The requests of the paths, on one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def plain(self) -> None:
        """A response that is not stored."""
        await self._create(model="burst", store=False)

    async def stored(self) -> None:
        """The same, stored."""
        await self._create(model="burst", store=True)

    async def burst(self) -> None:
        """A stream whose deltas the backend writes at once, each an HTTP chunk."""
        await self._create(model=RUN, store=False, stream=True)

    async def stepped(self, deltas: int) -> None:
        """A stream whose deltas come one by one."""
        SteppedBackend.deltas = deltas
        await self._create(model=STEPS, store=False, stream=True)

    async def background(self) -> None:
        """A background response whose events are followed to the end, read as it stands, and
        replayed.
        """
        events = await self._create(model="word", background=True, stream=True)
        response_id = id_in(events)
        await self._send("GET", f"/v1/responses/{response_id}")
        await self._send("GET", f"/v1/responses/{response_id}?stream=true")

    async def message(self) -> None:
        """A message of the Messages API."""
        await self._message(model="burst")

    async def message_burst(self) -> None:
        """The same stream as `burst`, of that API."""
        await self._message(model=RUN, stream=True)

    async def chat(self) -> None:
        """A chat completion that is forwarded."""
        await self._chat(model="burst")

    async def chat_run(self) -> None:
        """A chat completion that becomes a response."""
        await self._chat(model=RUN)

    async def chat_run_burst(self) -> None:
        """The same stream as `burst`, as chunks of chat completions."""
        await self._chat(model=RUN, stream=True)

    async def _chat(self, **fields: Any) -> None:
        body = {"messages": [{"role": "user", "content": "Hello!"}], **fields}
        await self._send("POST", "/v1/chat/completions", body)

    async def _message(self, **fields: Any) -> None:
        messages = [{"role": "user", "content": "Hello!"}]
        body = {"max_tokens": 4096, "messages": messages, **fields}
        await self._send("POST", "/v1/messages", body)

    async def _create(self, **fields: Any) -> bytes:
        return await self._send("POST", "/v1/responses", {"input": "Hello!", **fields})

    async def _send(self, method: str, path: str, body: Any = None) -> bytes:
        content = b"" if body is None else msgspec.json.encode(body)
        return await self._client.send(request(method, path, content), SteppedBackend.step)
