"""A server process that two tenants share: A attacks, B must not notice."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from antiphon.storage.open import open_store
from tests.support.command import Serving, serving
from tests.support.keys import bearing, issue
from tests.support.replay import Answer, delta, echo, sse

PATIENCE = 30.0
"""Seconds that B waits at most for anything."""


@dataclass
class Tenant:
    """A client with the API key of one tenant."""

    url: str
    http: aiohttp.ClientSession
    key: str

    async def send_request(self, method: str, path: str, **body: Any) -> tuple[int, Any]:
        """Send a request below `/v1`; return the status and the JSON of the reply."""
        async with asyncio.timeout(PATIENCE):
            async with self.http.request(method, f"{self.url}{path}", json=body or None) as reply:
                text = await reply.text()
                return reply.status, json.loads(text) if text else None

    async def respond(self, input: Any = "Hi", **parameters: Any) -> tuple[int, Any]:
        """Create a response of model `m`."""
        return await self.send_request(
            "POST", "/responses", **{"model": "m", "input": input, **parameters}
        )


@dataclass
class Rivals:
    """The server, and its tenants A and B."""

    serving: Serving
    a: Tenant
    b: Tenant

    @property
    def memory(self) -> int:
        """Bytes of memory that the server process and its children have resident."""
        own = self.serving.process.pid
        return sum(_resident(process) for process in (own, *_children(own)))

    @property
    def cpu(self) -> float:
        """Seconds of CPU that the server process has used."""
        fields = (
            Path(f"/proc/{self.serving.process.pid}/stat").read_text().rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_memory(self) -> int:
        """The largest number of bytes that the server process has had resident."""
        return _status(self.serving.process.pid, "VmHWM")


@asynccontextmanager
async def rivals(
    folder: Path, store_url: str, backend_url: str, *flags: str, **variables: str
) -> AsyncIterator[Rivals]:
    """Start `antiphon serve` with a key for each tenant.

    `flags` and `variables` are the command's.
    """
    store = await open_store(store_url)
    a = await issue(store, "a")
    b = await issue(store, "b")
    await store.close()
    arguments = ("--port", "0", "--backend", backend_url, "--store", store_url, *flags)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(folder, *arguments, **variables))
        tenants = []
        for key in (a, b):
            connector = aiohttp.TCPConnector(limit=0)
            session = aiohttp.ClientSession(headers=bearing(key), connector=connector)
            tenants.append(Tenant(server.url, await stack.enter_async_context(session), key))
        yield Rivals(server, *tenants)


def hang_for_a(request: dict[str, Any]) -> Answer:
    """Never end an answer to a text of A, which begins with `A`; repeat any other text."""
    if request["messages"][-1]["content"].startswith("A"):
        return Answer([sse(delta(content="Once"), done=False)], wait=asyncio.Event())
    return echo(request)


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def _resident(pid: int) -> int:
    return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)
