"""One simulation, from its plan to its outcome."""

import asyncio
import gc
import logging
import random
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from antiphon import ids
from simulation.backend import Moods, SimulatedBackend
from simulation.checks import Afterwards, Excuses, broken, remains, watch
from simulation.client import Wires
from simulation.clients import Client, Clients
from simulation.loop import START, Process, SimulatedLoop, Stuck, retained
from simulation.machine import machine
from simulation.network import FAIR, Network, Weather
from simulation.plan import CLIENTS, LENGTH, Event, Plan
from simulation.promises import Frames, event_of
from simulation.server import SimulatedServer
from simulation.store import Database, Temper

PATIENCE = 240.0
"""Seconds after which no client may be waiting any more, once everything is healed."""

SETTLE = 25.0
"""Seconds until the servers must be at rest: longer than a lease of a dead worker."""

UNDISTURBED = 12.0
"""Seconds after which a server that runs must not expire."""

MOST_STEPS = 3_000_000

EXPECTED = ("This server's clock is",)
"""Errors in the log that a plan asks for."""

HOSTS = ("10.0.0.1", "10.0.0.2")


@dataclass(slots=True)
class Outcome:
    """What a simulation showed. `violations` is empty if everything holds."""

    plan: Plan
    violations: list[str]
    digest: str
    steps: int
    simulated: float
    """Seconds of the simulated clock."""
    trace: list[str]


class Violations(logging.Handler):
    """Collects what must not happen, also errors in the log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def add(self, text: str) -> None:
        """Note a violation, once."""
        if text not in self.found:
            self.found.append(text)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(EXPECTED):
            return
        cause = record.exc_info[1] if record.exc_info else None
        self.add(f"an error was logged: {record.getMessage()} {cause!r}")


class World:
    """The parts of one simulation."""

    def __init__(self, plan: Plan, loop: SimulatedLoop, violations: Violations) -> None:
        self.plan = plan
        self.loop = loop
        self.violations = violations
        self.dice = random.Random(f"world {plan.seed}")
        self.network = Network(loop, random.Random(f"network {plan.seed}"))
        self.database = Database(loop, random.Random(f"store {plan.seed}"))
        self.database.kill = self._kill_process
        self.wires = Wires(self.network)
        self.temper = Temper(latency=plan.latency, reads_at_once=plan.reads_at_once)
        self.servers = [
            SimulatedServer(f"s{number}", loop, self.database) for number in range(plan.servers)
        ]
        self.backends = [
            SimulatedBackend(name, loop, loop.world, random.Random(f"backend {name} {plan.seed}"))
            for name in HOSTS
        ]
        self.clients = Clients(self.wires, self.servers, plan.seed)
        self.crashes = 0
        self.are_backends_bad = False
        self.is_store_bad = False
        self.trouble_until = 0.0
        """Until when the store may keep servers from sending heartbeats."""
        self._starting: set[str] = set()
        loop.after_step = self._check_step
        loop.connect = self.network.connect

    async def run(self) -> None:
        """Run the plan, heal everything, and check what remains."""
        for host, backend in zip(HOSTS, self.backends, strict=True):
            self.network.serve(host, backend.protocol)
        for server in self.servers:
            await self._up(server)
        watch(self.database.connection, self.violations.add, self._expired)
        begun = self.loop.time()
        clients: list[asyncio.Task[None]] = []
        faults: list[asyncio.Task[None]] = []
        for event in self.plan.events:
            await asyncio.sleep(max(0.0, begun + event.at - self.loop.time()))
            is_client = event.kind in CLIENTS
            act = self.clients.run(event) if is_client else self._break(event)
            (clients if is_client else faults).append(asyncio.ensure_future(act))
        await asyncio.sleep(max(0.0, begun + LENGTH - self.loop.time()))
        await self._heal(faults)
        if clients:
            _, late = await asyncio.wait(clients, timeout=PATIENCE)
            for task in clients:
                if task in late:
                    self.violations.add(f"a client still waits: {task.get_coro()}")
                elif (error := task.exception()) is not None:
                    self.violations.add(f"a client failed: {error!r}")
            if late:
                return
        await asyncio.sleep(SETTLE)
        await self._judge()

    async def _judge(self) -> None:
        reader = Client(
            self.wires, self.servers, self.clients.record, Event(-1, 0, "", 0, 0), self.dice
        )
        reader.accepts_all = True
        record = self.clients.record
        responses: dict[str, dict[str, Any] | None] = {}
        for response_id in record.questions:
            status, body = await reader.get(f"/v1/responses/{response_id}")
            responses[response_id] = body if status == 200 else None
        replays = {
            one.response_id: [await self._replay(one.response_id) for _ in range(2)]
            for one in record.readings
        }
        items = {
            one: (await reader.get(f"/v1/conversations/{one}/items?order=asc&limit=100"))[1]["data"]
            for one in record.turns
        }
        await asyncio.sleep(SETTLE)
        excuses = Excuses(self.are_backends_bad, self.is_store_bad, self.crashes)
        for text in broken(record, Afterwards(responses, replays, items), excuses):
            self.violations.add(text)
        for text in remains(self.database.connection):
            self.violations.add(text)
        for server in self.servers:
            for text in server.leaks():
                self.violations.add(text)

    async def _replay(self, response_id: str) -> Frames:
        body = b""
        path = f"/v1/responses/{response_id}?stream=true"
        async for message in self.wires.messages(self.servers[0], "GET", path, None, {}):
            body += message.get("body", b"")
        frames = [frame for frame in body.split(b"\n\n") if frame.startswith(b"event")]
        return [(event_of(frame)["sequence_number"], frame) for frame in frames]

    # What breaks.

    async def _up(self, server: SimulatedServer) -> None:
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
        await self._up(server)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run_in(self.loop.world, work)

    async def _break(self, event: Event) -> None:
        await getattr(self, f"_break_{event.kind}")(
            event, self.servers[event.where % len(self.servers)]
        )

    async def _break_kill(self, event: Event, server: SimulatedServer) -> None:
        self._kill(server)
        await asyncio.sleep(event.size * 15)
        await self._up(server)

    async def _break_stop(self, event: Event, server: SimulatedServer) -> None:
        if server.is_up and server.process is not None:
            process = server.process
            stopping = asyncio.ensure_future(server.stop())
            while not (stopping.done() or process.is_dead):  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.1)
            stopping.cancel()
            self.wires.cut(server)
            self.network.cut(process)
            await asyncio.sleep(event.size * 5)
        await self._up(server)

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

    async def _break_store_slow(self, event: Event, server: SimulatedServer) -> None:
        await self._with_store(replace(self.temper, latency=event.size * 2), 15)

    async def _break_store_fails(self, event: Event, server: SimulatedServer) -> None:
        self.is_store_bad = True
        bad = event.size**2 * 0.2
        temper = replace(self.temper, fails=bad / 3, loses_reply=bad, loses_hint=event.size)
        await self._with_store(temper, 12)

    async def _break_store_mute(self, event: Event, server: SimulatedServer) -> None:
        temper = replace(self.temper, loses_reply=event.size * 0.5, loses_hint=1.0)
        await self._with_store(temper, 12)

    async def _break_store_kills(self, event: Event, server: SimulatedServer) -> None:
        await self._with_store(replace(self.temper, kills=event.size * 0.004), 15)

    async def _with_store(self, temper: Temper, seconds: float) -> None:
        self.database.temper = temper
        self.trouble_until = self.loop.time() + seconds + UNDISTURBED
        await asyncio.sleep(seconds)
        self.database.temper = self.temper

    async def _heal(self, faults: list[asyncio.Task[None]]) -> None:
        """Everything works from now on."""
        self.network.weather = FAIR
        self.database.temper = self.temper
        for host, backend in zip(HOSTS, self.backends, strict=True):
            backend.moods = Moods()
            self.network.bring_up(host)
        if faults:
            await asyncio.wait(faults)
        for server in self.servers:
            server.set_clock(0.0)
            await self._up(server)
            while not server.is_up:  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.5)

    # What is checked on the way.

    def _expired(self, worker: str) -> None:
        now = self.loop.time()
        for server in self.servers:
            if server.worker == worker and now > self.trouble_until:
                since = now - server.disturbed_at
                if since > UNDISTURBED:
                    self.violations.add(f"{worker} expired although it ran for {since:.1f} s")

    def _check_step(self) -> None:
        if self.loop.steps > MOST_STEPS:
            raise Stuck(f"the servers are not at rest after {MOST_STEPS} steps")


def simulate(plan: Plan, *, is_traced: bool = False) -> Outcome:
    """Run a plan. Everything follows from it."""
    machine.boot(f"machine {plan.seed}")
    ids._pool.clear()
    loop = SimulatedLoop(random.Random(f"loop {plan.seed}"), is_fair=plan.is_fair)
    machine.clocks = loop
    violations = Violations()
    loop.set_exception_handler(
        lambda _, context: violations.add(f"{context['message']}: {context.get('exception')!r}")
    )
    if is_traced:
        loop.trace = []
    log = logging.getLogger("antiphon")
    log.propagate = False
    log.handlers[:] = [violations]
    gc.disable()
    asyncio.set_event_loop(loop)
    world = World(plan, loop, violations)
    try:
        loop.run_until_complete(world.run())
    except Stuck as error:
        violations.add(str(error))
    finally:
        retained.append((loop, world))
        asyncio.set_event_loop(None)
    return Outcome(
        plan,
        violations.found,
        loop.digest,
        loop.steps,
        loop.time() - START,
        loop.trace or [],
    )
