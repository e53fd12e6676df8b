"""A large request's data is freed when the request ends, however it ends, without the garbage
collector.

The collector counts objects, and these are few and large.
"""

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from io import BytesIO
from typing import Any

import aiohttp
import pytest
from websockets.asyncio.client import ClientConnection, connect

from antiphon.sharing.memory import LARGE
from antiphon.upstream.backend import Reply
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import stated
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

SIZE = 8 * LARGE
TEXTS = [{"role": "user", "content": letter * SIZE} for letter in "ab"]
BODY = {"model": "scripted", "input": TEXTS}


class Backend(ScriptedBackend):
    """Answers at once, or never."""

    def __init__(self) -> None:
        super().__init__([stated("Yes.")] * 9)
        self.is_stuck = False
        self.requested = asyncio.Event()

    async def post(self, path: str, body: bytes) -> Reply:
        self.requested.set()
        if self.is_stuck:
            await asyncio.Event().wait()
        return await super().post(path, body)


@pytest.fixture
def collected() -> Iterator[Callable[[], int]]:
    """Return the bytes of the largest data that only the garbage collector would free."""

    def largest() -> int:
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        found = [part for one in gc.garbage for part in (one, *gc.get_referents(one))]
        gc.garbage.clear()
        return max((sys.getsizeof(part) for part in found if type(part) in (bytes, str)), default=0)

    gc.disable()
    # what other tests left is not looked through each time; nothing thaws it and not the collected
    # tests
    gc.freeze()
    yield largest
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def test_what_only_the_collector_would_free_is_seen(collected: Callable[[], int]) -> None:
    circle: list[Any] = [b"x" * LARGE]
    circle.append(circle)
    del circle

    assert collected() >= LARGE


async def post(server: RunningServer, **fields: Any) -> None:
    body = BytesIO(json.dumps({**BODY, **fields}).encode())
    headers = {"content-type": "application/json"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{server.url}/responses", data=body) as reply,
    ):
        await reply.read()


async def leave(server: RunningServer, backend: Backend, *, stream: bool) -> None:
    backend.is_stuck = True
    pending = asyncio.create_task(post(server, stream=stream))
    await asyncio.wait_for(backend.requested.wait(), 30)
    pending.cancel()
    await asyncio.wait({pending})


async def socket(server: RunningServer) -> ClientConnection:
    return await connect(server.url.replace("http", "ws", 1) + "/responses", max_size=None)


def message(**fields: Any) -> str:
    return json.dumps({"type": "response.create", **BODY, **fields})


async def converse(server: RunningServer, *, store: bool) -> None:
    speaking = await socket(server)
    await speaking.send(message(store=store))
    while json.loads(await speaking.recv())["type"] != "response.completed":
        pass
    await speaking.close()


async def leave_socket(server: RunningServer, backend: Backend) -> None:
    """One response is being made, and others wait for it."""
    backend.is_stuck = True
    speaking = await socket(server)
    for _ in range(3):
        await speaking.send(message())
    await asyncio.wait_for(backend.requested.wait(), 30)
    await speaking.send('{"type": "unknown"}')
    while json.loads(await speaking.recv())["type"] != "error":
        pass
    speaking.transport.abort()


async def be_refused(server: RunningServer) -> None:
    speaking = await socket(server)
    await speaking.send(message(model="none"))
    await speaking.recv()
    await speaking.close()


ENDS: dict[str, Callable[[RunningServer, Backend], Awaitable[None]]] = {
    "completed": lambda server, backend: post(server),
    "an unknown model": lambda server, backend: post(server, model="none"),
    "an invalid parameter": lambda server, backend: post(server, tool_choice="bad"),
    "left": lambda server, backend: leave(server, backend, stream=False),
    "left in a stream": lambda server, backend: leave(server, backend, stream=True),
    "completed on a WebSocket": lambda server, backend: converse(server, store=True),
    "remembered on a WebSocket": lambda server, backend: converse(server, store=False),
    "refused on a WebSocket": lambda server, backend: be_refused(server),
    "left on a WebSocket": leave_socket,
}


@pytest.mark.parametrize("end", ENDS)
async def test_nothing_large_waits_for_the_collector(
    collected: Callable[[], int], end: str
) -> None:
    backend = Backend()
    async with serve(backend) as server:
        memory = server.parts.run.history.memory
        await ENDS[end](server, backend)
        await until(lambda: memory.left >= memory.size and not server.parts.process.runs)

        assert collected() < SIZE
