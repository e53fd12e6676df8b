"""Server processes on one store, to be killed, stopped and started again; each keeps its port."""

import asyncio
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.support.command import Process, start

PATIENCE = 30.0
"""Seconds that a process has to be ready."""


@dataclass
class Node:
    """One server. `faults` holds when it was killed or stopped, `ups` when it ran again, in
    monotonic time.
    """

    name: str
    folder: Path
    port: int
    backend: str
    store: str
    flags: tuple[str, ...] = ()
    prelude: str = ""
    """Python that its process runs first."""
    process: Process | None = None
    faults: list[float] = field(default_factory=list)
    ups: list[float] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self) -> None:
        """Start it; return when it is ready."""
        flags = (
            "--port",
            str(self.port),
            "--backend",
            self.backend,
            "--store",
            self.store,
            *self.flags,
        )
        self.process = await start(self.folder, "serve", *flags, prelude=self.prelude)
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not (line := await self.process.stdout.readline()).startswith(b"curl "):
                assert line, (await self.process.communicate())[1].decode()
        self.ups.append(time.monotonic())
        self._drains = [
            asyncio.create_task(_drain(stream))
            for stream in (self.process.stdout, self.process.stderr)
            if stream
        ]

    async def kill(self) -> None:
        """End it without warning."""
        self.faults.append(time.monotonic())
        self._signal(signal.SIGKILL)
        await self._removed()

    def stop(self) -> None:
        """Hold it outside of a write to SQLite: a process that is held within one holds up all
        others of its store.
        """
        self._signal(signal.SIGSTOP)
        while not self._can_be_written():
            self._signal(signal.SIGCONT)
            self._can_be_written()  # once its write has ended
            self._signal(signal.SIGSTOP)
        self.faults.append(time.monotonic())

    def _can_be_written(self) -> bool:
        if not self.store.startswith("sqlite://"):
            return True
        with closing(
            sqlite3.connect(self.store.removeprefix("sqlite://"), timeout=0.5, isolation_level=None)
        ) as store:
            try:
                store.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            store.execute("ROLLBACK")
        return True

    def cont(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)
        self.ups.append(time.monotonic())

    def undisturbed_since(self, at: float) -> float:
        """Since when it had been running, at this time; that time itself where it was not."""
        since = max((up for up in self.ups if up <= at), default=at)
        return at if any(since <= fault <= at for fault in self.faults) else since

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it as an operator does; return its exit code."""
        self._signal(how)
        return await self._removed()

    def _signal(self, how: signal.Signals) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(how)

    async def _removed(self) -> int:
        assert self.process is not None
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.gather(*self._drains)
        if isinstance(self.process, asyncio.subprocess.Process):
            self.process._transport.close()  # type: ignore[attr-defined]
        return code


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.readline():
        pass


@asynccontextmanager
async def cluster(
    nodes: list[Node], headers: Mapping[str, str] | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """Run these nodes; a client session to talk to them."""
    await nodes[0].start()  # it makes the schema
    await asyncio.gather(*(node.start() for node in nodes[1:]))
    try:
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as http:
            yield http
    finally:
        for node in nodes:
            node.cont()
            await node.kill()
