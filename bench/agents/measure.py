"""What the requests of an agent take of a server: one client on one connection, one request after
the other.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Protocol

import uvloop

from bench.agents.conversation import Conversation
from bench.agents.scenarios import Scenario, chat
from bench.process import cpu_of_all
from bench.server import RunningServer
from bench.trace.loopback import Client
from bench.wire import request

MODEL = "chunks"
"""The model that is asked: its streams come in one burst, each delta in a chunk of HTTP."""

WARM_UP, LEAST = 2, 5
"""Requests before any is counted, and those that are counted at least, whatever they take."""

SETTLING = 0.01
"""Seconds in which a server ends what it does after an answer."""

PATIENCE = 120.0
"""Seconds in which one measurement must end."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a request takes: seconds of CPU of all processes of the server, in the mean, and those
    to its first byte, in the median.
    """

    cpu: float
    first: float


class Sender(Protocol):
    """Sends requests of one kind.

    `begin` comes before each, and what it takes is not counted where `has_before`.
    """

    has_before: bool

    async def begin(self) -> None:
        """Prepare a request."""

    async def send(self) -> None:
        """Send it, and wait for the end of its answer."""


class Chat:
    """Sends a chat request of a size, to a server that passes it on or answers it itself."""

    has_before = False

    def __init__(self, client: Client, size: int, *, stream: bool) -> None:
        self._client = client
        self._request = request(
            "POST", "/v1/chat/completions", chat(size, model=MODEL, stream=stream)
        )

    async def begin(self) -> None:
        """See `Sender`."""

    async def send(self) -> None:
        """See `Sender`."""
        await self._client.send(self._request, lambda: None)


def of_scenario(
    server: RunningServer, scenario: Scenario, seconds: float, *, stream: bool, store: bool = False
) -> Taken:
    """Return what the scenario takes of our server."""

    def sender(client: Client) -> Sender:
        return Conversation(client, scenario, model=MODEL, stream=stream, store=store)

    return measured(server, sender, seconds)


def of_chat(server: RunningServer, size: int, seconds: float, *, stream: bool) -> Taken:
    """Return what a chat request of so many bytes takes of a server that has the backend's
    interface.
    """
    return measured(server, lambda client: Chat(client, size, stream=stream), seconds)


def measured(server: RunningServer, sender_of: Callable[[Client], Sender], seconds: float) -> Taken:
    """Return what the requests of a sender take of a server.

    Raises `RuntimeError` if one is not answered.
    """
    return uvloop.run(_measured(server, sender_of, seconds))


async def _measured(
    server: RunningServer, sender_of: Callable[[Client], Sender], seconds: float
) -> Taken:
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(Client, "127.0.0.1", server.port)
    try:
        async with asyncio.timeout(PATIENCE):
            sender = sender_of(client)
            for _ in range(WARM_UP):
                await sender.begin()
                await sender.send()
            return await _counted(server.pid, sender, client, seconds)
    finally:
        transport.abort()


async def _counted(pid: int, sender: Sender, client: Client, seconds: float) -> Taken:
    await asyncio.sleep(SETTLING)
    began = cpu_of_all(pid)
    end = time.perf_counter() + seconds
    before = 0.0
    firsts = list[float]()
    while time.perf_counter() < end or len(firsts) < LEAST:
        before += await _begun(pid, sender)
        await sender.send()
        firsts.append(client.first)
    await asyncio.sleep(SETTLING)
    return Taken((cpu_of_all(pid) - began - before) / len(firsts), median(firsts))


async def _begun(pid: int, sender: Sender) -> float:
    """Begin; return the CPU seconds that what comes before took."""
    if not sender.has_before:
        await sender.begin()
        return 0.0
    await asyncio.sleep(SETTLING)
    began = cpu_of_all(pid)
    await sender.begin()
    await asyncio.sleep(SETTLING)
    return cpu_of_all(pid) - began
