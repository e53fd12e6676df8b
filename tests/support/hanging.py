"""Servers of tenant A that never answer, and a resolver of names that never does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.waiting import until

HUNG = ".hung.example"
HERE = ".here.example"

RESOLVER = f'''
"""Loaded by each Python process of a test: names that end in {HUNG} are never resolved, {HERE} is this machine."""
import pathlib, socket, time
_system = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if isinstance(name, str) and name.endswith("{HUNG}"):
        (pathlib.Path(__file__).parent / f"{{name}}.asked").touch()
        time.sleep(300)
    if isinstance(name, str) and name.endswith("{HERE}"):
        host = "127.0.0.1"
    return _system(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
'''  # noqa: E501 - the lines of a text


def resolver(folder: Path, pythonpath: str) -> str:
    """Write the resolver; return the `PYTHONPATH` with which a process loads it."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(RESOLVER)
    return f"{folder}:{pythonpath}"


async def wait_for_lookups(folder: Path, count: int) -> None:
    """Wait until so many names are being looked up that are never resolved."""
    await until(lambda: _requested(folder) >= count)


def _requested(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.asked"))


@dataclass
class Hanging:
    """A server that reads requests and never answers."""

    url: str = ""
    requested: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with asyncio.timeout(30):
            while self.requested < count:
                self.news.clear()
                await self.news.wait()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.requested += 1
            self.news.set()
            await self.over.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            """The client has left."""
        finally:
            writer.close()


@asynccontextmanager
async def hanging() -> AsyncIterator[Hanging]:
    """Run such a server on a port of its own."""
    server = Hanging()
    listener = await asyncio.start_server(server.take, "127.0.0.1", 0, backlog=1024)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/hook"
    try:
        yield server
    finally:
        server.over.set()
        listener.close()
