"""What the other parts of a process are built from."""

from dataclasses import dataclass, field

from antiphon import ids
from antiphon.access.keyring import Keyring
from antiphon.access.metering import Meter, response_slots
from antiphon.access.spending import Tariff
from antiphon.config import Settings
from antiphon.history.bounds import Bounds
from antiphon.ids import Clock, NewId
from antiphon.outbound.ssrf import Resolve
from antiphon.process import ProcessState
from antiphon.recording.quota import StorageQuota
from antiphon.sharing.memory import Memory
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.observers import Observers
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router


@dataclass(slots=True, eq=False)
class Foundation:
    """The settings, the models, the store, and what all requests of a process share."""

    settings: Settings
    models: ModelRegistry
    store: Store
    keyring: Keyring = field(default_factory=Keyring)
    new_id: NewId = ids.new_id
    now: Clock = ids.now
    shared: SharedResources = field(default_factory=SharedResources)
    """The capacity that tenants share in this process."""
    measures: Measures = field(default_factory=Measures)
    observers: Observers = field(default_factory=Observers)
    reads: FairScheduler = field(default_factory=FairScheduler)
    """Shares the reading and decoding of large data fairly between tenants."""
    resolve: Resolve | None = None
    """Resolves names to addresses; None for the resolver of this machine."""
    process: ProcessState = field(default_factory=ProcessState)
    router: Router = field(init=False)
    meter: Meter = field(init=False)
    bounds: Bounds = field(init=False)
    quota: StorageQuota = field(init=False)
    memory: Memory = field(init=False)
    offload: Offload = field(init=False)
    retention: int = field(init=False)
    """Seconds until a response expires."""

    def __post_init__(self) -> None:
        settings = self.settings
        self.router = Router(self.models)
        slots = self.shared.add("responses", response_slots(settings.max_responses))
        described = (settings.vision,) if settings.vision else ()
        tariff = Tariff(self.models, lambda: described, settings.reserved_output_tokens)
        self.meter = Meter(self.store, self.now, slots, tariff, settings.currency)
        self.bounds = bounds_of(settings)
        self.quota = StorageQuota(self.store, self.bounds)
        self.memory = Memory(max(settings.max_bodies, settings.max_body), settings.max_body)
        self.retention = settings.retention_days * 86_400
        self.offload = Offload(self.shared.add("large_requests", thread_turns()))


def bounds_of(settings: Settings) -> Bounds:
    """Return how much state a request can contain, load and store."""
    return Bounds(
        settings.max_items,
        settings.max_history_items,
        settings.max_history_bytes,
        settings.max_conversation_items,
        settings.max_conversation_bytes,
        settings.max_stored_bytes,
        settings.code_containers_per_tenant,
        container_memory=settings.code_memory_max,
    )
