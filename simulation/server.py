"""A simulated server process: the whole application of the settings, called without HTTP."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from antiphon import ids
from antiphon.build import server as build_server
from antiphon.build.hosting import app_of
from antiphon.build.server import build
from antiphon.config import BackendConfig, ModelConfig, Settings
from antiphon.config.models import PriceConfig
from antiphon.http_server.asgi import AsgiApp
from antiphon.server.limits import ServerLimits
from antiphon.storage.store import Store
from simulation.agents import Deeds, worker_of
from simulation.backend import MODEL
from simulation.loop import Process, SimulatedLoop
from simulation.receivers import Receiver
from simulation.store import Database

if TYPE_CHECKING:
    from antiphon.build import Application

SETTINGS = Settings(
    store="sqlite://",
    backends=[
        BackendConfig(url="http://10.0.0.1/v1", name="a"),
        BackendConfig(url="http://10.0.0.2/v1", name="b"),
    ],
    first_byte_timeout=12.0,
    idle_timeout=6.0,
    background_jobs=4,
    models=[ModelConfig(name=MODEL, prices=PriceConfig(input=1000.0, output=1000.0))],
)

OLD = 10.0
"""Seconds after which a task of a server at rest is no longer a step of its background work."""


class SimulatedServer:
    """One server, which can be started again after it was killed: each time as another process."""

    def __init__(
        self,
        name: str,
        loop: SimulatedLoop,
        database: Database,
        *,
        deeds: Deeds | None = None,
        receiver: Receiver | None = None,
    ) -> None:
        """Let the steps of an agent do `deeds`, and send webhooks to a `receiver`."""
        self.name = name
        self.loop = loop
        self.database = database
        self._deeds = deeds
        self._receiver = receiver
        self.process: Process | None = None
        self.application: Application | None = None
        self.app: AsgiApp | None = None
        self.disturbed_at = 0.0
        """When it was last killed, paused or resumed."""
        self.skew = 0.0
        self._at_rest: Counter[str] = Counter()
        self._starts = 0

    @property
    def is_up(self) -> bool:
        """Whether it accepts requests."""
        return self.app is not None

    @property
    def worker(self) -> str:
        """The name under which it holds leases; empty while it does not run."""
        return self.application.parts.process.worker if self.application is not None else ""

    async def start(self) -> None:
        """Start a process; return when it accepts requests."""
        self._starts += 1
        self.process = process = self.loop.new_process(f"{self.name}.{self._starts}")
        process.skew = self.skew
        self.disturbed_at = self.loop.time()
        await self.loop.run_in(process, self._boot(process))

    async def _boot(self, process: Process) -> None:
        setattr(build_server, "open_store", self._open_store)  # noqa: B010 - a name that it imports
        agents = None if self._deeds is None else worker_of(self._deeds)
        application = await build(SETTINGS, {}, agents=agents)
        if self._receiver is not None:
            setattr(application.courier, "_client", self._receiver)  # noqa: B010 - of another type
        self.application = application
        app = app_of(application, SETTINGS, ServerLimits(), has_console=False)
        application.start()
        self._at_rest = self._tasks(process, self.loop.time())
        self.app = app

    async def _open_store(self, *_: Any, **__: Any) -> Store:
        return self.database.open(ids.now)

    def kill(self) -> None:
        """End the process without warning."""
        self.disturbed_at = self.loop.time()
        self.app = self.application = None
        if self.process is not None:
            self.loop.kill(self.process)

    async def stop(self) -> None:
        """End the process as an operator does."""
        application, process = self.application, self.process
        if application is None or process is None:
            return
        self.app = None
        await self.loop.run_in(process, _end(application))
        self.kill()

    def pause(self, seconds: float) -> None:
        """Run nothing of the process for some time."""
        if self.process is not None:
            self.disturbed_at = self.loop.time() + seconds
            self.process.resumes_at = self.loop.time() + seconds

    def set_clock(self, skew: float) -> None:
        """Set the wall clock of the machine on which it runs."""
        self.skew = skew
        if self.process is not None:
            self.process.skew = skew

    def _tasks(self, process: Process, until: float) -> "Counter[str]":
        """Count the tasks that began before a time, by what they run."""
        tasks = self.loop.tasks_of(process)
        return Counter(
            str(task.get_coro()).split(" at ")[0] for task in tasks if task.began <= until
        )

    def leaks(self) -> Iterator[str]:
        """Yield what a server at rest still holds."""
        application, process = self.application, self.process
        if application is None or process is None:
            return
        parts = application.parts
        for name, retained in (("leases", parts.process.leases), ("runs", parts.process.runs)):
            if retained:
                yield f"{self.name} still holds {name}: {sorted(map(str, retained))}"
        for name, usage in parts.shared.usage().items():
            if usage.in_use or usage.waiting:
                used = f"{usage.in_use} slots of {name} are in use, {usage.waiting} wait"
                yield f"{self.name}: {used}"
        for state in parts.models.backends:
            slots = state.slots
            if slots.in_use or slots.waiting:
                yield f"{self.name}: {slots.in_use} slots of the backend {state.name} are in use"
        memory = parts.run.history.memory
        if memory.left != memory.size:
            yield f"{self.name} still counts {memory.size - memory.left} bytes of memory"
        for name, count in (self._tasks(process, self.loop.time() - OLD) - self._at_rest).items():
            yield f"{self.name} still runs {count} tasks of {name}"


async def _end(application: "Application") -> None:
    await application.drain()
    application.abort()
    await application.close()
