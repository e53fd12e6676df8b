"""Servers for the checks: processes of this Antiphon on one store, which can be killed."""

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession, ClientTimeout, TCPConnector

from antiphon.errors import AntiphonError

START = 30.0
"""Seconds that a server has to be ready."""

END = 10.0
"""Seconds that it has to stop before it is killed."""

SETTINGS = """\
store = "{store}"
grace = 2

[[backends]]
name = "scripted"
url = "{model}"

[[backends]]
name = "flooded"
url = "{flooded}"
"""


_BASE_URL = re.compile(r"base URL (http://[^\s;]+)")


class PlaceError(AntiphonError):
    """A server of a check cannot start."""


@dataclass
class Server:
    """One process. `url` is its base URL."""

    url: str
    process: asyncio.subprocess.Process
    log: Path

    async def kill(self) -> None:
        """End it as a crash does, at once."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        """End it as an operator does."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), END)
        except TimeoutError:
            await self.kill()


@dataclass
class Place:
    """Where a check runs: a folder of its own, the store, the model, and the time that it has.

    `dice` are for whatever is chosen at random: the same for the same seed.
    """

    folder: Path
    store: str
    model: str
    flooded: str
    """The model of a tenant that floods."""
    seconds: float
    dice: random.Random
    clients: ClientSession
    """Sends a key of the tenant `checked`."""
    key: str = ""
    servers: list[Server] = field(default_factory=list)

    async def start(
        self, *, prelude: Sequence[str] = (), store: str = "", model: str = ""
    ) -> Server:
        """Start a server, by default on the store and before the model of this place.

        `prelude` is a command that runs it, such as one that sets a limit. Raises `PlaceError`.
        """
        name = f"server{len(self.servers)}"
        settings = self.folder / f"{name}.toml"
        settings.write_text(
            SETTINGS.format(
                store=store or self.store, model=model or self.model, flooded=self.flooded
            )
        )
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *prelude,
                *(sys.executable, "-m", "antiphon", "serve", "--port", "0"),
                *("--config", str(settings)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                cwd=self.folder,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        server = Server("", process, log)
        self.servers.append(server)
        try:
            server.url = await asyncio.wait_for(_address(process), START)
        except (TimeoutError, EOFError) as error:
            raise PlaceError(f"A server did not start: {log.read_text()[-500:]}") from error
        return server

    async def send(
        self, server: Server, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        """Return the status and the JSON of a reply.

        Raises `ClientError` of aiohttp without a reply, and `ValueError` for one that is not JSON.
        """
        async with self.clients.request(method, f"{server.url}{path}", json=body) as reply:
            return reply.status, await reply.json(content_type=None)

    async def respond(self, server: Server, model: str, **more: Any) -> tuple[int, Any]:
        """Request a response; return the status and the JSON of the reply. Raises as `send`."""
        body = {"model": model, "input": "Hello", **more}
        return await self.send(server, "POST", "/responses", body)

    async def events(
        self, server: Server, method: str, path: str, body: Any = None
    ) -> list[dict[str, Any]]:
        """Return the events of a stream. Raises as `send`."""
        async with self.clients.request(method, f"{server.url}{path}", json=body) as reply:
            return [
                msgspec.json.decode(line[6:])
                async for line in reply.content
                if line.startswith(b"data: {")
            ]

    async def command(self, *arguments: str, store: str = "") -> str:
        """Run a command of Antiphon, by default on the store of this place; return what it prints.

        The URL of the store is in no argument: other users can read those, and it can have a
        password.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "antiphon", *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env={
                **os.environ,
                "OPENAI_API_KEY": self.key,
                "ANTIPHON_STORE": store or self.store,
            },
        )
        output, _ = await process.communicate()
        return output.decode()

    async def create_key(self, tenant: str, store: str = "") -> str:
        """Return a new key of a tenant. Raises `PlaceError`."""
        created = await self.command("keys", "create", "--tenant", tenant, store=store)
        for word in created.split():
            if word.startswith("sk-"):
                return word
        raise PlaceError(f"A key could not be created: {created[-300:]}")

    async def stop_all(self) -> None:
        """Stop what still runs."""
        running = [one for one in self.servers if one.process.returncode is None]
        await asyncio.gather(*(one.stop() for one in running))


async def _address(process: asyncio.subprocess.Process) -> str:
    """Return the base URL in the line that a server prints once it is ready. Raises `EOFError`."""
    while process.stdout and (line := (await process.stdout.readline()).decode()):
        if found := _BASE_URL.search(line):
            return found[1]
    raise EOFError


@asynccontextmanager
async def opened(
    folder: Path, store: str, models: tuple[str, str], seconds: float, seed: int
) -> AsyncIterator[Place]:
    """Give a place, and end what was started in it. `models` are its `model` and `flooded`.

    Raises `PlaceError` without a key.
    """
    folder.mkdir()  # noqa: ASYNC240 - one folder
    limits = ClientTimeout(total=max(60.0, 2 * seconds))
    async with ClientSession(connector=TCPConnector(limit=0), timeout=limits) as clients:
        dice = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        place = Place(folder, store, *models, seconds, dice, clients)
        place.key = await place.create_key("checked")
        clients.headers["authorization"] = f"Bearer {place.key}"
        try:
            yield place
        finally:
            await place.stop_all()
