"""The parts that every response needs, and what this process holds while it makes them."""

from dataclasses import dataclass, field
from typing import Protocol

from antiphon.access.api_keys import KnownKeys
from antiphon.access.keyring import Keyring
from antiphon.access.metering import Meter
from antiphon.cache.cache import Cache, Room
from antiphon.errors import AntiphonError
from antiphon.ids import Clock, NewId, new_id
from antiphon.runs.chain_cache import ChainCache
from antiphon.storage.contract import Store
from antiphon.storage.notifications import Notifier
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.observers import Observers
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router


class ActiveRun(Protocol):
    """A response that is being made here."""

    def stop(self, error: AntiphonError) -> None:
        """Have the response fail with this error, as soon as possible."""
        ...


@dataclass(slots=True)
class Services:
    """The parts. `new_id` and `now` are passed in, so that a trace can be exact."""

    models: ModelRegistry
    store: Store
    new_id: NewId
    now: Clock
    retention: int = 30 * 86_400
    """Seconds for which a response is kept."""
    keyring: Keyring = field(default_factory=Keyring)
    strict_tools: bool = False
    """Tools that this server cannot run are rejected, not left out."""
    toolset: Toolset = field(default_factory=Toolset)
    """The tools that this server runs itself."""
    strict_seals: bool = False
    """An `encrypted_content` that cannot be opened is rejected, not left out."""
    worker: str = field(default_factory=lambda: new_id("worker"))
    """The name under which this process holds things in the store."""
    observers: Observers = field(default_factory=Observers)
    measures: Measures = field(default_factory=Measures)
    room: Room = field(default_factory=Room)
    """How much is kept of answers, to be given again."""
    chains: ChainCache = field(default_factory=ChainCache)
    """The chains that were followed lately."""
    wakes: Notifier = field(default_factory=Notifier)
    holding: set[str] = field(default_factory=set)
    """Responses that hold a conversation or a key while they are made here."""
    runs: set[ActiveRun] = field(default_factory=set)
    """Responses that are being made here."""
    router: Router = field(init=False)
    cache: Cache = field(init=False)
    api_keys: KnownKeys = field(init=False)
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        self.router = Router(self.models)
        self.cache = Cache(self.store, self.router, self.now, self.room)
        self.api_keys = KnownKeys(self.store)
        self.meter = Meter(self.store, self.now)
