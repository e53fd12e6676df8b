"""Connections between simulated processes: ordered bytes with delays, which can break or fall
silent.

It is what `loop.create_connection` reaches, so Antiphon's own HTTP client runs on it. A segment can
be split anywhere. A connection ends in three ways: closed, reset, or half-open, in which nothing
arrives any more and neither side learns of it.
"""

import asyncio
import random
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from simulation.loop import Process, SimulatedLoop


@dataclass(slots=True)
class Weather:
    """How the network behaves now; delays are in seconds."""

    delay: float = 0.004
    jitter: float = 0.01
    lost: float = 0.0
    """The chance that a segment is lost, and arrives only when it is sent again."""
    resent_after: float = 0.3
    breaks: float = 0.0
    """The chance that a segment resets the connection."""
    hangs: float = 0.0
    """The chance that a segment is the last that arrives."""


FAIR = Weather()

TICK = 1e-6
"""Seconds between two segments: timers of the same time expire in any order."""


class Network:
    """All hosts and connections."""

    def __init__(self, loop: SimulatedLoop, dice: random.Random) -> None:
        self.loop = loop
        self.dice = dice
        self.weather = FAIR
        self._hosts: dict[str, Callable[[], asyncio.Protocol]] = {}
        self._is_down: set[str] = set()
        self.open: list[Wire] = []

    def serve(self, host: str, make: Callable[[], asyncio.Protocol]) -> None:
        """Let a host accept connections."""
        self._hosts[host] = make

    def take_down(self, host: str) -> None:
        """Refuse connections to a host, and reset those that are open."""
        self._is_down.add(host)
        for wire in [one for one in self.open if one.host == host]:
            wire.reset()

    def bring_up(self, host: str) -> None:
        """Accept connections to a host again."""
        self._is_down.discard(host)

    def delay(self) -> float:
        """Return how long one segment takes."""
        weather = self.weather
        delay = weather.delay + self.dice.random() * weather.jitter
        if weather.lost and self.dice.random() < weather.lost:
            delay += weather.resent_after * (1 + self.dice.random())
        return delay

    async def connect(
        self, make: Callable[[], asyncio.Protocol], host: str
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Open a connection, as `loop.create_connection`."""
        await asyncio.sleep(self.delay())
        if self.weather.hangs and self.dice.random() < self.weather.hangs:
            await asyncio.sleep(1e6)
        if host in self._is_down:
            raise ConnectionRefusedError(111, "Connect call failed")
        wire = Wire(self, host, self.loop.here)
        return wire.connect(make(), self._hosts[host]())

    def cut(self, process: Process) -> None:
        """The connections of a killed process end: the kernel resets them."""
        for wire in [one for one in self.open if one.owner is process]:
            wire.reset()


class Wire:
    """One connection: two ends, whose bytes arrive in order."""

    def __init__(self, network: Network, host: str, owner: Process) -> None:
        self.network = network
        self.host = host
        self.owner = owner
        self.is_silent = False

    def connect(
        self, client: asyncio.Protocol, server: asyncio.Protocol
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect the two protocols."""
        loop = self.network.loop
        near = End(self, client, copy_context())
        far = End(self, server, loop.context_of(loop.world))
        near.other, far.other = far, near
        self.ends = (near, far)
        self.network.open.append(self)
        client.connection_made(near)
        loop.call_soon(server.connection_made, far, context=far.context)
        return near, client

    def reset(self) -> None:
        """Both sides lose the connection; what is sent from now on does not arrive."""
        self.is_silent = True
        for end in self.ends:
            end.lose_soon(ConnectionResetError(104, "Connection reset by peer"))

    def ended(self) -> None:
        """Forget the connection once both sides have lost it."""
        if all(end.is_lost for end in self.ends) and self in self.network.open:
            self.network.open.remove(self)


class End(asyncio.Transport):
    """One side of a connection."""

    other: "End"

    def __init__(self, wire: Wire, protocol: asyncio.Protocol, context: Context) -> None:
        super().__init__()
        self._wire = wire
        self._protocol = protocol
        self.context = context
        self.is_lost = False
        self._is_closing = False
        self._is_paused = False
        self._arrived: list[bytes | None] = []
        self._arrives = 0.0
        """When the last segment to this side arrives."""

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        network = self._wire.network
        weather, dice = network.weather, network.dice
        if weather.breaks and dice.random() < weather.breaks:
            self._wire.reset()
            return
        if weather.hangs and dice.random() < weather.hangs:
            self._wire.is_silent = True
        body = bytes(data)
        if len(body) > 1 and dice.random() < 0.2:
            place = dice.randrange(1, len(body))
            self.other.send(body[:place])
            body = body[place:]
        self.other.send(body)

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def send(self, data: bytes | None) -> None:
        """Let bytes, or the end, arrive at this side."""
        if self._wire.is_silent:
            return
        loop = self._wire.network.loop
        self._arrives = max(self._arrives + TICK, loop.time() + self._wire.network.delay())
        loop.call_at(self._arrives, self._arrive, data, context=self.context)

    def _arrive(self, data: bytes | None) -> None:
        if self.is_lost:
            return
        self._arrived.append(data)
        self._deliver()

    def _deliver(self) -> None:
        while self._arrived and not self._is_paused and not self.is_lost:
            data = self._arrived.pop(0)
            if data is None:
                self._protocol.eof_received()
                self._lose(None)
                return
            self._protocol.data_received(data)

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self.other.send(None)
        self._wire.network.loop.call_soon(self._lose, None, context=self.context)

    def abort(self) -> None:
        self.close()

    def lose_soon(self, error: Exception | None) -> None:
        """Lose the connection after a delay."""
        loop = self._wire.network.loop
        at = max(self._arrives, loop.time() + self._wire.network.delay())
        loop.call_at(at, self._lose, error, context=self.context)

    def _lose(self, error: Exception | None) -> None:
        if self.is_lost:
            return
        self.is_lost = self._is_closing = True
        self._protocol.connection_lost(error)
        if not self.other.is_lost and error is None:
            self.other.send(None)
        self._wire.ended()

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._wire.network.loop.call_soon(self._deliver, context=self.context)

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default
