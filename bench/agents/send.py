"""Sends a scenario of `LARGEST` as a client of its own: `python -m bench.agents.send PORT NAME`.

It prints a line when a request is ready, sends it when it reads one, and prints the next when it
was answered.
"""

import asyncio
import sys

import uvloop

from bench.agents.conversation import Conversation
from bench.agents.scenarios import LARGEST
from bench.trace.loopback import Client


async def run(port: int, name: str) -> None:
    """Send until the input ends."""
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    one = Conversation(client, LARGEST[name](), model="burst", stream=False)
    while True:
        await one.begin()
        print("ready", flush=True)
        if not await asyncio.to_thread(sys.stdin.readline):
            return
        await one.send()


if __name__ == "__main__":
    uvloop.run(run(int(sys.argv[1]), sys.argv[2]))
