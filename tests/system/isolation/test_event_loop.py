"""Nothing blocks the event loop, whatever a client sends or has stored.

CPU time is measured, between two beats of the server's loop (`tests/support/watched.py`), and never what a clock says.
"""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
from websockets.asyncio.client import connect

from tests.support import watched as heart
from tests.support.attacks import Attack, attacks, create, inputs
from tests.support.command import serving
from tests.support.replay import JSON, Answer, ReplayBackend, completion, text

STEP = 0.020
"""Seconds of CPU time that one step may take on the machine on which `CALIBRATED` was measured."""

CALIBRATED = 0.012
"""Seconds of CPU time that `work` takes there."""

MARGIN = 3
"""Other processes evict each other's caches, and a page that was never used costs more than one that was."""

SAID = ("many calls", "many images", "far too many items", "long decimals")
"""What is sent on a WebSocket, too: the steps behind the message are those of HTTP."""

TRIES = 3
"""The best of so many counts: nothing but the server makes a step long each time."""


def work() -> None:
    for _ in range(20):
        json.loads(json.dumps([{"a": i} for i in range(1_000)]))


def bound() -> float:
    """Return how long a step may take on this machine."""
    begun = time.process_time()
    work()
    return MARGIN * STEP * max(1.0, (time.process_time() - begun) / CALIBRATED)


def brief(request: dict[str, Any]) -> Answer:
    return Answer([text("Yes")]) if request.get("stream") else Answer([completion("Yes")], JSON)


class Watched:
    """A server whose loop is measured."""

    def __init__(self, url: str, http: aiohttp.ClientSession, beats: Path, backend: ReplayBackend) -> None:
        self.url, self.http, self._beats, self._backend = url, http, beats, backend
        self._seen = 0

    async def send(self, attack: Attack) -> tuple[int, bytes]:
        headers = {"content-type": "application/json", **(attack.headers or {})}
        async with self.http.post(self.url + attack.path, data=BytesIO(attack.body), headers=headers) as reply:
            return reply.status, await reply.read()

    async def longest(self, act: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        """Return the longest step while something is done."""
        await act()
        async with self.http.get(self.url + "/models") as reply:  # a step after all of it
            await reply.read()
        self._backend.requests.clear()
        self._backend.bodies.clear()
        lines = self._beats.read_text().splitlines()
        new, self._seen = lines[self._seen :], len(lines)
        return max(map(json.loads, new), key=lambda one: float(one["cpu"]), default={"cpu": 0.0})

    async def check(self, name: str, act: Callable[[], Awaitable[Any]], most: float) -> list[str]:
        """Return what was wrong, nothing where no step was too long."""
        tries = []
        while len(tries) < TRIES:
            tries.append(await self.longest(act))
            if tries[-1]["cpu"] <= most:
                return []
        best = min(tries, key=lambda one: float(one["cpu"]))
        return [f"{name}: {best['cpu'] * 1000:.0f} ms in {best['stacks']}"]


@asynccontextmanager
async def watched(folder: Path, backend: ReplayBackend, store: str) -> AsyncIterator[Watched]:
    beats = folder / "beats"
    beats.touch()
    backend.script = brief
    arguments = ("--port", "0", "--backend", backend.url, "--store", store)
    async with (
        serving(folder, *arguments, program=Path(heart.__file__), PYTHONSAFEPATH="1", BEATS=str(beats)) as server,
        aiohttp.ClientSession() as http,
    ):
        yield Watched(server.url, http, beats, backend)


async def test_no_body_blocks_the_loop(tmp_path: Path, backend: ReplayBackend) -> None:
    most, wrong = bound(), list[str]()
    async with watched(tmp_path, backend, f"sqlite://{tmp_path}/antiphon.db") as server:
        # The first mistake of a process loads what names it.
        await server.send(Attack("", "/responses", create(b"1")))
        for attack in attacks():
            wrong += await server.check(attack.name, partial(server.send, attack), most)

    assert not wrong


async def test_no_message_of_a_websocket_blocks_the_loop(tmp_path: Path, backend: ReplayBackend) -> None:
    most, wrong = bound(), list[str]()
    async with watched(tmp_path, backend, "sqlite://") as server:
        url = server.url.replace("http", "ws", 1) + "/responses"
        async with connect(url, max_size=None, compression=None) as socket:

            async def ask(value: bytes) -> None:
                body = create(value, store=False).replace(b"{", b'{"type":"response.create",', 1)
                await socket.send(body.decode())
                while json.loads(await socket.recv())["type"] not in ("response.completed", "error"):
                    pass

            await ask(b"1")
            said = inputs()
            for name in SAID:
                wrong += await server.check(name, partial(ask, said[name]), most)

    assert not wrong
