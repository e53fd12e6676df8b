"""What breaks in a simulation: processes, clocks, backends, the network and the store."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from simulation.backend import Moods, SimulatedBackend
from simulation.client import Wires
from simulation.loop import Process, SimulatedLoop
from simulation.network import FAIR, Network, Weather
from simulation.plan import Event, Plan
from simulation.receivers import Receiver
from simulation.server import SimulatedServer
from simulation.store import Database, Temper

HOSTS = ("10.0.0.1", "10.0.0.2")

LATE = 15.0
"""The longest time in which a client receives what a server could not read in the store."""

UNDISTURBED = 12.0
"""Seconds after which a server that runs must not expire."""


class Troubles:
    """Lets the faults of a plan occur, and remembers what they excuse."""

    def __init__(
        self,
        plan: Plan,
        loop: SimulatedLoop,
        database: Database,
        wires: Wires,
        servers: Sequence[SimulatedServer],
        backends: Sequence[SimulatedBackend],
        receiver: Receiver | None,
    ) -> None:
        self.dice = random.Random(f"world {plan.seed}")
        self.loop = loop
        self.database = database
        self.wires = wires
        self.network: Network = wires.network
        self.servers = servers
        self.backends = backends
        self.receiver = receiver
        self.temper = Temper(latency=plan.latency, reads_at_once=plan.reads_at_once)
        self.crashes = 0
        self.stops = 0
        self.are_backends_bad = False
        self.is_store_bad = False
        self.is_store_mute = False
        self._bad_times: list[tuple[float, float]] = []
        """When statements of the store could fail."""
        self.trouble_until = 0.0
        """Until when the store may keep servers from sending heartbeats."""
        self._starting: set[str] = set()
        database.kill = self._kill_process

    def was_store_bad(self, moment: float) -> bool:
        """Whether statements could fail when a client received something at this moment."""
        return any(begin <= moment <= end for begin, end in self._bad_times)

    @property
    def are_writes_certain(self) -> bool:
        """Whether each write was acknowledged: a reservation that was not is never returned."""
        return not (self.is_store_bad or self.is_store_mute)

    async def up(self, server: SimulatedServer) -> None:
        """Start a server, again and again until it runs."""
        if server.name in self._starting:
            return
        self._starting.add(server.name)
        while not server.is_up:
            booting = asyncio.ensure_future(server.start())
            process = None
            while not (booting.done() or (process is not None and process.is_dead)):
                await asyncio.sleep(0.1)
                process = server.process
            if booting.done() and booting.exception() is None:
                break
            booting.cancel()
            server.kill()
            await asyncio.sleep(1.0)
        self._starting.discard(server.name)

    def _kill(self, server: SimulatedServer) -> None:
        process = server.process
        if process is None or process.is_dead:
            return
        self.crashes += 1
        server.kill()
        self.wires.cut(server)
        self.network.cut(process)

    def _kill_process(self, process: Process) -> None:
        for server in self.servers:
            if server.process is process:
                self._kill(server)
                self._later(self._restart(server))

    async def _restart(self, server: SimulatedServer) -> None:
        await asyncio.sleep(self.dice.random() * 10)
        await self.up(server)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run_in(self.loop.world, work)

    async def occur(self, event: Event) -> None:
        await getattr(self, f"_break_{event.kind}")(
            event, self.servers[event.where % len(self.servers)]
        )

    async def _break_kill(self, event: Event, server: SimulatedServer) -> None:
        self._kill(server)
        await asyncio.sleep(event.size * 15)
        await self.up(server)

    async def _break_stop(self, event: Event, server: SimulatedServer) -> None:
        if server.is_up and server.process is not None:
            process = server.process
            self.stops += 1
            stopping = asyncio.ensure_future(server.stop())
            while not (stopping.done() or process.is_dead):  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.1)
            stopping.cancel()
            self.wires.cut(server)
            self.network.cut(process)
            await asyncio.sleep(event.size * 5)
        await self.up(server)

    async def _break_pause(self, event: Event, server: SimulatedServer) -> None:
        seconds = event.size * 25
        server.pause(seconds)
        await asyncio.sleep(seconds)

    async def _break_skew(self, event: Event, server: SimulatedServer) -> None:
        server.set_clock((event.size - 0.5) * 400)

    async def _break_backend_down(self, event: Event, server: SimulatedServer) -> None:
        host = HOSTS[event.where % len(HOSTS)]
        self.are_backends_bad = True
        self.network.take_down(host)
        await asyncio.sleep(event.size * 20)
        self.network.bring_up(host)

    async def _break_moods(self, event: Event, server: SimulatedServer) -> None:
        backend = self.backends[event.where % len(HOSTS)]
        self.are_backends_bad = True
        bad = event.size * 0.3
        backend.moods = Moods(refuses=bad, breaks=bad / 5, hangs=bad / 20)
        await asyncio.sleep(20)
        backend.moods = Moods()

    async def _break_weather(self, event: Event, server: SimulatedServer) -> None:
        self.are_backends_bad = True
        bad = event.size**2 * 0.2
        self.network.weather = Weather(
            delay=event.size * 0.2, jitter=event.size, lost=bad, breaks=bad / 4, hangs=bad / 10
        )
        await asyncio.sleep(15)
        self.network.weather = FAIR

    async def _break_receiver(self, event: Event, server: SimulatedServer) -> None:
        if self.receiver is not None:
            self.receiver.trouble = event.size
            await asyncio.sleep(20)
            self.receiver.trouble = 0.0

    async def _break_store_slow(self, event: Event, server: SimulatedServer) -> None:
        await self._with_store(replace(self.temper, latency=event.size * 2), 15)

    async def _break_store_fails(self, event: Event, server: SimulatedServer) -> None:
        self.is_store_bad = True
        bad = event.size**2 * 0.2
        temper = replace(self.temper, fails=bad / 3, loses_reply=bad, loses_hint=event.size)
        await self._with_store(temper, 12)
        self._bad_times.append((self.loop.time() - 12, self.loop.time() + LATE))

    async def _break_store_mute(self, event: Event, server: SimulatedServer) -> None:
        self.is_store_mute = True
        temper = replace(self.temper, loses_reply=event.size * 0.5, loses_hint=1.0)
        await self._with_store(temper, 12)

    async def _break_store_kills(self, event: Event, server: SimulatedServer) -> None:
        await self._with_store(replace(self.temper, kills=event.size * 0.004), 15)

    async def _with_store(self, temper: Temper, seconds: float) -> None:
        self.database.temper = temper
        self.trouble_until = self.loop.time() + seconds + UNDISTURBED
        await asyncio.sleep(seconds)
        self.database.temper = self.temper

    async def heal(self, faults: list[asyncio.Task[None]]) -> None:
        """Everything works from now on."""
        self.network.weather = FAIR
        self.database.temper = self.temper
        if self.receiver is not None:
            self.receiver.trouble = 0.0
        for host, backend in zip(HOSTS, self.backends, strict=True):
            backend.moods = Moods()
            self.network.bring_up(host)
        if faults:
            await asyncio.wait(faults)
        for server in self.servers:
            server.set_clock(0.0)
            await self.up(server)
            while not server.is_up:  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.5)
