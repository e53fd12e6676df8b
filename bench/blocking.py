"""How long a large request keeps the server's loop from anything else: `python -m bench.blocking` prints it as JSON.

Backend, server and client share one loop, and what is counted is the thread's own CPU: nobody else's work is in it.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress

import uvloop

from bench.trace.loopback import Client, SteppedBackend
from bench.trace.scenarios import request
from bench.trace.server import served

COUNT = 1000
ROUNDS = 5
"""Requests of each kind: the least of their longest turns of the loop counts."""

_TEXT = "The quick brown fox jumps over the lazy dog. " * 2


def _messages() -> list[object]:
    return [{"role": "user" if number % 2 == 0 else "assistant", "content": _TEXT} for number in range(COUNT)]


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
    loop = asyncio.get_running_loop()
    backend = await loop.create_server(SteppedBackend, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{backend.sockets[0].getsockname()[1]}/v1"
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        async with served(url, f"sqlite://{folder}/bench.db") as port:
            _, client = await loop.create_connection(Client, "127.0.0.1", port)
            figures = {name: await _least(client, make()) for name, make in INPUTS.items()}
    backend.close()
    return figures


async def _least(client: Client, items: list[object]) -> float:
    return min([await _longest(client, items) for _ in range(ROUNDS)])


async def _longest(client: Client, items: list[object]) -> float:
    body = request("POST", "/v1/responses", {"model": "burst", "input": items, "store": False})
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await client.send(body, SteppedBackend.step)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    return longest * 1e3


if __name__ == "__main__":
    print(json.dumps(uvloop.run(measured())), flush=True)
