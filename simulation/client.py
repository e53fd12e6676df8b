"""HTTP between simulated clients and servers: an ASGI call whose messages take time, get lost with
their connection, or never arrive.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from simulation.network import TICK, Network
from simulation.server import SimulatedServer


class Broken(Exception):  # noqa: N818 - expected
    """The connection ended before the reply."""


LEARNS_AFTER = 20.0
"""The longest time until a server learns that a client is silent, in seconds."""

PATIENCE = 60.0
"""Seconds of silence after which a client disconnects."""

STOPPED = {"type": "stopped"}


class Exchange:
    """One request to a server, and its reply as it arrives at the client."""

    def __init__(
        self,
        network: Network,
        server: SimulatedServer,
        method: str,
        target: str,
        body: Any,
        headers: dict[str, str],
    ) -> None:
        self._network = network
        self._loop = network.loop
        self.server = server
        self.process = server.process
        self._arrived: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._arrives = 0.0
        self._is_cut = self._is_silent = False
        self._has_ended = False
        self._left = asyncio.Event()
        self._body = b"" if body is None else json.dumps(body).encode()
        path, _, query = target.partition("?")
        fields = {"host": "sim", "content-type": "application/json", **headers}
        fields["content-length"] = str(len(self._body))
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
            "client": ("10.1.0.1", 50000),
            "server": ("sim", 80),
        }

    def send(self) -> None:
        """Let the request arrive at the server."""
        process = self.process
        if process is None or not self.server.is_up:
            self.cut()
            return
        self._loop.call_later(
            self._network.delay(), self._begin, context=self._loop.context_of(process)
        )

    def _begin(self) -> None:
        if self.process is None or self.process.is_dead or self.server.app is None:
            self.cut()
            return
        self._loop.run_in(self.process, self._run(self.server.app))

    async def _run(self, app: Any) -> None:
        parts = [{"type": "http.request", "body": self._body}]

        async def receive() -> Any:
            if parts:
                return parts.pop()
            await self._left.wait()
            return {"type": "http.disconnect"}

        await app(self._scope, receive, self._sent)
        if not self._has_ended:
            self.cut()

    async def _sent(self, message: dict[str, Any]) -> None:
        if self._is_cut or self._is_silent:
            return
        weather, dice = self._network.weather, self._network.dice
        if weather.breaks and dice.random() < weather.breaks:
            body = message.get("body", b"")
            if body:
                part = body[: dice.randrange(len(body))]
                self._deliver({"type": "http.response.body", "body": part, "more_body": True})
            self.cut()
            return
        if weather.hangs and dice.random() < weather.hangs:
            self._is_silent = True
            self._leave_after(dice.random() * LEARNS_AFTER)
            return
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._has_ended = True
        self._deliver(message)

    def cut(self) -> None:
        """The connection ends, for both sides."""
        if not (self._is_cut or self._has_ended):
            self._is_cut = True
            self._deliver(STOPPED)
            self._leave_after(0.0)

    def _deliver(self, message: dict[str, Any]) -> None:
        self._arrives = max(self._arrives + TICK, self._loop.time() + self._network.delay())
        self._loop.call_at(self._arrives, self._arrived.put_nowait, message)

    def _leave_after(self, seconds: float) -> None:
        if self.process is not None and not self.process.is_dead:
            self._loop.call_later(
                seconds, self._left.set, context=self._loop.context_of(self.process)
            )

    def leave(self) -> None:
        """The client disconnects."""
        self._is_cut = True
        self._leave_after(self._network.delay())

    async def next(self) -> dict[str, Any]:
        """Return the next message of the reply. Raises `Broken`."""
        message = await self._arrived.get()
        if message is STOPPED:
            raise Broken
        return message


class Wires:
    """The requests in progress, so that those to a killed server end."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._open: list[Exchange] = []

    def cut(self, server: SimulatedServer) -> None:
        """The server was killed: its clients are reset, or learn nothing."""
        for exchange in [one for one in self._open if one.process is server.process]:
            if self.network.dice.random() < 0.8:
                exchange.cut()

    async def request(
        self,
        server: SimulatedServer,
        method: str,
        target: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Send a request; return the status and the JSON of the reply. Raises `Broken`."""
        parts = b""
        status = 0
        stream = self.messages(server, method, target, body, headers or {})
        async for message in stream:
            status = message.get("status", status)
            parts += message.get("body", b"")
        return status, json.loads(parts)

    async def messages(
        self,
        server: SimulatedServer,
        method: str,
        target: str,
        body: Any,
        headers: dict[str, str],
    ) -> AsyncIterator[dict[str, Any]]:
        """Send a request; yield the messages of the reply. Raises `Broken`, also for silence."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange = Exchange(self.network, server, method, target, body, named)
        self._open.append(exchange)
        is_whole = False
        try:
            exchange.send()
            while not is_whole:
                try:
                    async with asyncio.timeout(PATIENCE):
                        message = await exchange.next()
                except TimeoutError:
                    raise Broken from None
                is_whole = message["type"] == "http.response.body" and not message.get("more_body")
                yield message
        finally:
            if not is_whole:
                exchange.leave()
            with suppress(ValueError):
                self._open.remove(exchange)
