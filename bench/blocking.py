"""How long a large request keeps the server's loop from anything else: `python -m bench.blocking`
prints it as JSON.

Backend, server and client share one loop, and what is counted is the thread's own CPU: nobody
else's work is in it. With the largest bodies that would be the work of backend and client: there
they are processes of their own.
"""

import asyncio
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
import uvloop

from bench.agents.scenarios import LARGEST
from bench.process import ROOT
from bench.server import module
from bench.trace.loopback import Client, SteppedBackend
from bench.trace.server import running
from bench.wire import request

COUNT = 1000
ROUNDS = 5
"""Requests of each kind: the least of their longest turns of the loop counts."""

LARGE_ROUNDS = 3
"""The same of the largest bodies."""

_TEXT = "The quick brown fox jumps over the lazy dog. " * 2


def _messages() -> list[object]:
    return [
        {"role": "user" if number % 2 == 0 else "assistant", "content": _TEXT}
        for number in range(COUNT)
    ]


def _pairs() -> list[object]:
    return [
        item
        for number in range(COUNT)
        for item in (
            {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": '{"x":1}'},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "ok"},
        )
    ]


INPUTS: dict[str, Callable[[], list[object]]] = {
    "loop blocked by 1,000 items, ms": _messages,
    "loop blocked by 1,000 pairs of call and output, ms": _pairs,
}
"""What is sent, by the name of the figure."""


async def measured() -> dict[str, float]:
    """Return the milliseconds of each input."""
    return {**await _of_inputs(), **await _of_largest()}


async def _of_inputs() -> dict[str, float]:
    loop = asyncio.get_running_loop()
    backend = await loop.create_server(SteppedBackend, "127.0.0.1", 0)
    async with _serving(backend.sockets[0].getsockname()[1]) as port:
        _, client = await loop.create_connection(Client, "127.0.0.1", port)
        figures = {name: await _least(client, make()) for name, make in INPUTS.items()}
    backend.close()
    return figures


async def _of_largest() -> dict[str, float]:
    """Return the milliseconds of bodies so large that the backend and the client must not share
    this loop.
    """
    with module("bench.backend") as backend:
        async with _serving(backend.port) as port:
            return {
                f"loop blocked by {name}, ms": await _least_hold(port, name) for name in LARGEST
            }


@asynccontextmanager
async def _serving(backend: int) -> AsyncIterator[int]:
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        async with running(f"http://127.0.0.1:{backend}/v1", f"sqlite://{folder}/bench.db") as port:
            yield port


async def _least(client: Client, items: list[object]) -> float:
    content = msgspec.json.encode({"model": "burst", "input": items, "store": False})
    body = request("POST", "/v1/responses", content)
    longest = [
        await _longest(client.send(body, SteppedBackend.step), time.thread_time)
        for _ in range(ROUNDS)
    ]
    return min(longest)


async def _least_hold(port: int, name: str) -> float:
    """Return the least of the longest turns with another process as the client.

    The CPU time of all threads counts: the loop has a turn to take at any moment, so while another
    thread holds Python's lock, the loop waits. What a thread does without the lock counts too, and
    what it does while a busy machine keeps the loop's thread from a core: the turns are this long
    at most.
    """
    command = [sys.executable, "-m", "bench.agents.send", str(port), name]
    client = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=ROOT)
    try:
        await _line(client)
        return min([await _longest(_sent(client), time.process_time) for _ in range(LARGE_ROUNDS)])
    finally:
        client.kill()
        await client.communicate()


async def _sent(client: Process) -> None:
    """Let the client send its next request; return once it has the answer, and prepared the request
    after it.
    """
    assert client.stdin is not None
    client.stdin.write(b"\n")
    await _line(client)


async def _line(client: Process) -> None:
    assert client.stdout is not None
    if not await client.stdout.readline():
        raise RuntimeError("The client of the bench ended.")


async def _longest(sending: Awaitable[object], clock: Callable[[], float]) -> float:
    """Return the milliseconds of the longest turn of the loop until something is sent and answered,
    by this clock.
    """
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = clock()
            await asyncio.sleep(0)
            longest = max(longest, clock() - began)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await sending
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    return longest * 1e3


if __name__ == "__main__":
    print(json.dumps(uvloop.run(measured())), flush=True)
