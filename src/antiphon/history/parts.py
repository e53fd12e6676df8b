"""The parts from which the context of a request is built."""

from dataclasses import dataclass

from antiphon.access.keyring import Keyring
from antiphon.history.bounds import Bounds
from antiphon.history.chain_cache import ChainCache
from antiphon.ids import NewId
from antiphon.sharing.memory import Memory
from antiphon.sharing.offload import Offload
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.store import Store


@dataclass(slots=True, eq=False)
class HistoryParts:
    """What reading a history, and items that a request refers to, needs."""

    store: Store
    chains: ChainCache
    """The chains used recently."""
    bounds: Bounds
    """How much state a request can contain, load and store."""
    reads: FairScheduler
    """Shares the reading and decoding of large data fairly between tenants."""
    offload: Offload
    """Threads for work on large requests."""
    memory: Memory
    """The memory that this process can use for clients: bodies, messages, histories."""
    keyring: Keyring
    new_id: NewId
