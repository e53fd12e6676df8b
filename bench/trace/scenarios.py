"""The paths that are traced, and the calls of each."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.backend import DELTAS
from bench.trace.counter import CallCounter, Calls, Function, files_of_ours
from bench.trace.loopback import STEPS, Client, SteppedBackend, settle
from bench.trace.server import served

WARM_UP = 5
"""Requests of each path before any is counted: imports, caches and connections are made then."""

SAMPLES = 20
"""Requests that are counted. The cheapest stands for all: a timer of the server's can only add calls."""

FEW, MANY = 16, 48
"""Deltas of the two stepped streams whose difference is what a lone delta costs."""

PATIENCE = 100.0
"""Seconds until all must be counted."""

PLAIN, STORED, BURST = "plain", "stored", "streamed, 256 deltas in few reads"
STEPPED, DELTA = "streamed, 256 deltas one by one", "lone delta"
BACKGROUND = "background: create, poll, replay"
FACTS, FACTS_STORED = "facts of a plain response", "facts of a stored response"
FACTS_STREAMED = "facts of a streamed response"
PLAIN_FILES, DELTA_FILES = "files of ours in a plain request", "files of ours in a lone delta"

Costs = dict[Function, float]
"""Calls by function. Those of a lone delta may be fractions."""

Scenario = Callable[[], Awaitable[None]]


def figures(costs: dict[str, Costs]) -> dict[str, float]:
    """Return the figures that have a budget."""
    sums = {path: round(sum(calls.values()), 2) for path, calls in costs.items()}
    files = {PLAIN_FILES: files_of_ours(costs[PLAIN]), DELTA_FILES: files_of_ours(costs[DELTA])}
    return {**sums, **{name: float(len(modules)) for name, modules in files.items()}}


async def trace(folder: Path) -> dict[str, Costs]:
    """Return what each path costs, with a store in this folder."""
    loop = asyncio.get_running_loop()
    backend = await loop.create_server(SteppedBackend, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{backend.sockets[0].getsockname()[1]}/v1"
    costs: dict[str, Costs] = {}
    for facts, paths in ((False, _trace), (True, _trace_facts)):
        async with served(url, f"sqlite://{folder}/trace.db", facts=facts) as port:
            _, client = await loop.create_connection(Client, "127.0.0.1", port)
            async with asyncio.timeout(PATIENCE):
                # In a task of its own: whatever runs this one is Python too, and would be counted each time it goes on.
                costs |= await asyncio.create_task(paths(Requests(client), costs))
    backend.close()
    return costs


async def _trace(requests: "Requests", _: dict[str, Costs]) -> dict[str, Costs]:
    costs: dict[str, Costs] = {
        PLAIN: await _cheapest(requests.plain),
        STORED: await _cheapest(requests.stored),
        BURST: await _cheapest(requests.burst),
        STEPPED: await _cheapest(partial(requests.stepped, DELTAS)),
    }
    few, many = [await _cheapest(partial(requests.stepped, deltas)) for deltas in (FEW, MANY)]
    costs[DELTA] = {name: cost for name in many if (cost := (many[name] - few.get(name, 0)) / (MANY - FEW))}
    costs[BACKGROUND] = await _cheapest(requests.background)
    return costs


async def _trace_facts(requests: "Requests", without: dict[str, Costs]) -> dict[str, Costs]:
    """Return what the facts and the timeline of a response cost, beside the same request without them."""
    costs: dict[str, Costs] = {}
    for path, base, request in (
        (FACTS, PLAIN, requests.plain),
        (FACTS_STORED, STORED, requests.stored),
        (FACTS_STREAMED, BURST, requests.burst),
    ):
        found, before = await _cheapest(request), without[base]
        costs[path] = {name: cost for name in {*found, *before} if (cost := found.get(name, 0) - before.get(name, 0))}
    return costs


async def _cheapest(scenario: Scenario) -> Costs:
    counter = CallCounter()
    for _ in range(WARM_UP):
        await scenario()
        await settle()
    samples: list[Calls] = []
    for _ in range(SAMPLES):
        with counter.counting():
            await scenario()
            await settle()
        samples.append(counter.take())
    cheapest: Calls = min(samples, key=Calls.total)
    return {**cheapest}


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
        await self._create(model="chunks", store=False, stream=True)

    async def stepped(self, deltas: int) -> None:
        """A stream whose deltas come one by one."""
        SteppedBackend.deltas = deltas
        await self._create(model=STEPS, store=False, stream=True)

    async def background(self) -> None:
        """A background response whose events are followed to the end, read as it stands, and replayed."""
        events = await self._create(model="word", background=True, stream=True)
        response_id = events.partition(b'"id":"')[2].partition(b'"')[0].decode()
        await self._send("GET", f"/v1/responses/{response_id}")
        await self._send("GET", f"/v1/responses/{response_id}?stream=true")

    async def _create(self, **fields: Any) -> bytes:
        return await self._send("POST", "/v1/responses", {"input": "Hello!", **fields})

    async def _send(self, method: str, path: str, body: Any = None) -> bytes:
        return await self._client.send(request(method, path, body), SteppedBackend.step)


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return an HTTP request with this JSON value, or without a body."""
    content = b"" if body is None else msgspec.json.encode(body)
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return b"%bcontent-length: %d\r\n\r\n%b" % (head.encode(), len(content), content)
