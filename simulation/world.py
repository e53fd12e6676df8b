"""One simulation, from its plan to its outcome."""

import asyncio
import gc
import logging
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon import ids
from simulation.agents import Deeds, misdeeds, repeated
from simulation.backend import SimulatedBackend
from simulation.checks import Afterwards, Excuses, broken, failed_and_stored, remains, watch
from simulation.client import Wires
from simulation.clients import Client, Clients
from simulation.keys import TENANTS, issue, unsettled
from simulation.loop import START, SimulatedLoop, Stuck, retained
from simulation.machine import machine
from simulation.network import Network
from simulation.plan import ACT, CLIENTS, LENGTH, Event, Plan
from simulation.promises import Frames, event_of, text_of
from simulation.receivers import Receiver, subscribe, undelivered, waiting
from simulation.server import SimulatedServer
from simulation.store import Database
from simulation.troubles import HOSTS, UNDISTURBED, Troubles

PATIENCE = 240.0
"""Seconds after which no client may be waiting any more, once everything is healed."""

SETTLE = 25.0
"""Seconds until the servers must be at rest: longer than a lease of a dead worker."""

KNOWN_AFTER = 3.0
"""Seconds after which all servers know of the first API key."""

LATE_DELIVERY = 300.0
"""Seconds after which every webhook must be delivered."""

MOST_FOREIGN = 6
"""Objects that other tenants try to read."""

MOST_STEPS = 3_000_000

EXPECTED = ("This server's clock is",)
"""Errors in the log that a plan asks for."""


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
        self.wires = Wires(self.network)
        self.deeds = Deeds(random.Random(f"deeds {plan.seed}"))
        self.receiver = Receiver(random.Random(f"receiver {plan.seed}"))
        self.servers = [
            SimulatedServer(
                f"s{number}",
                loop,
                self.database,
                deeds=self.deeds if plan.has_agents else None,
                receiver=self.receiver if plan.has_webhooks else None,
            )
            for number in range(plan.servers)
        ]
        self.backends = [
            SimulatedBackend(name, loop, loop.world, random.Random(f"backend {name} {plan.seed}"))
            for name in HOSTS
        ]
        self.clients = Clients(self.wires, self.servers, plan.seed)
        self.troubles = Troubles(
            plan, loop, self.database, self.wires, self.servers, self.backends, self.receiver
        )
        loop.after_step = self._check_step
        loop.connect = self.network.connect

    async def run(self) -> None:
        """Run the plan, heal everything, and check what remains."""
        for host, backend in zip(HOSTS, self.backends, strict=True):
            self.network.serve(host, backend.protocol)
        for server in self.servers:
            await self.troubles.up(server)
        await self._prepare()
        watch(self.database.connection, self.violations.add, self._expired, self.violations.add)
        begun = self.loop.time()
        clients: list[asyncio.Task[None]] = []
        faults: list[asyncio.Task[None]] = []
        for event in self.plan.events:
            await asyncio.sleep(max(0.0, begun + event.at - self.loop.time()))
            is_client = event.kind in (*CLIENTS, ACT)
            act = self.clients.run(event) if is_client else self.troubles.occur(event)
            (clients if is_client else faults).append(asyncio.ensure_future(act))
        await asyncio.sleep(max(0.0, begun + LENGTH - self.loop.time()))
        await self.troubles.heal(faults)
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

    async def _prepare(self) -> None:
        """Create keys and endpoints of webhooks, before anything breaks."""
        server = self.servers[0]
        if server.process is None or server.application is None:
            return
        if self.plan.has_keys:
            issuing = self.loop.run_in(server.process, issue(server.application))
            self.clients.secrets = await issuing
            await asyncio.sleep(KNOWN_AFTER)
        if self.plan.has_webhooks:
            tenants = TENANTS if self.plan.has_keys else ("",)
            await self.loop.run_in(server.process, subscribe(server.application, tenants))

    async def _until_delivered(self) -> None:
        """Wait for all webhooks, while processes hold what killed ones had claimed."""
        for _ in range(round(LATE_DELIVERY / SETTLE)):
            if not waiting(self.database.connection):
                return
            await asyncio.sleep(SETTLE)
        self.violations.add("a webhook is still waiting")

    async def _judge(self) -> None:
        reader = Client(
            self.wires, self.servers, self.clients.record, Event(-1, 0, "", 0, 0), self.dice
        )
        reader.accepts_all = True
        record = self.clients.record
        responses: dict[str, dict[str, Any] | None] = {}
        for response_id in record.questions:
            reader.secret = record.secrets.get(response_id, "")
            status, body = await reader.get(f"/v1/responses/{response_id}")
            responses[response_id] = body if status == 200 else None
        replays = {
            one.response_id: [await self._replay(one.response_id) for _ in range(2)]
            for one in record.readings
        }
        items = {}
        for one in record.turns:
            reader.secret = record.secrets[one]
            _, listed = await reader.get(f"/v1/conversations/{one}/items?order=asc&limit=100")
            items[one] = listed["data"]
        await self._check_tenants(reader)
        await asyncio.sleep(SETTLE)
        if self.plan.has_webhooks:
            await self._until_delivered()
            for text in undelivered(self.receiver, responses, record.background):
                self.violations.add(text)
        for text in self._misdeeds(responses):
            self.violations.add(text)
        excuses = Excuses(
            self.troubles.are_backends_bad, self.troubles.was_store_bad, self.troubles.crashes
        )
        requested = [backend.requested for backend in self.backends]
        for text in broken(record, Afterwards(responses, replays, items, requested), excuses):
            self.violations.add(text)
        for text in remains(self.database.connection):
            self.violations.add(text)
        if not self.troubles.is_store_bad:
            for text in failed_and_stored(self.database.connection, record.failed):
                self.violations.add(text)
        troubles = self.troubles
        is_exact = troubles.are_writes_certain and not (troubles.crashes or troubles.stops)
        for text in unsettled(self.database.connection, is_exact=is_exact):
            self.violations.add(text)
        for server in self.servers:
            for text in server.leaks():
                self.violations.add(text)

    def _misdeeds(self, responses: Mapping[str, dict[str, Any] | None]) -> Iterator[str]:
        yield from repeated(self.deeds)
        for response_id, question in self.clients.record.acts.items():
            response = responses.get(response_id)
            if response is not None and response["status"] == "completed":
                text = text_of(response)
                yield from misdeeds(question, text, self.deeds, is_calm=self.plan.is_calm)

    async def _check_tenants(self, reader: Client) -> None:
        """No tenant reads what another one has."""
        for object_id, owner in [*self.clients.record.secrets.items()][:MOST_FOREIGN]:
            kind = "conversations" if object_id.startswith("conv") else "responses"
            for secret in self.clients.secrets:
                if secret != owner:
                    reader.secret = secret
                    status, _ = await reader.get(f"/v1/{kind}/{object_id}")
                    if status != 404:
                        self.violations.add(f"another tenant reads {object_id}: {status}")

    async def _replay(self, response_id: str) -> Frames:
        body = b""
        path = f"/v1/responses/{response_id}?stream=true"
        secret = self.clients.record.secrets[response_id]
        headers = {"authorization": f"Bearer {secret}"} if secret else {}
        async for message in self.wires.messages(self.servers[0], "GET", path, None, headers):
            body += message.get("body", b"")
        frames = [frame for frame in body.split(b"\n\n") if frame.startswith(b"event")]
        return [(event_of(frame)["sequence_number"], frame) for frame in frames]

    # What is checked on the way.

    def _expired(self, worker: str) -> None:
        now = self.loop.time()
        for server in self.servers:
            if server.worker == worker and now > self.troubles.trouble_until:
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
