"""The parts that background work needs: of responses, and of files that are ingested."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.access.metering import Meter
from antiphon.jobs.known_agents import KnownAgents
from antiphon.process import ProcessState
from antiphon.recording.quota import StorageQuota
from antiphon.runs.parts import RunParts
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.memory import Memory
from antiphon.sharing.offload import Offload
from antiphon.sharing.resources import SharedResources
from antiphon.storage.store import Store
from antiphon.telemetry.kinds import Counter
from antiphon.upstream.outages import Outages

if TYPE_CHECKING:
    from antiphon.objects.file_text import FileTexts
    from antiphon.search.contract import EmbeddingModel
    from antiphon.storage.blobs.base import FileReader


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What bounds the responses of agents. Sizes are in bytes."""

    pin_wait: float = 3600.0
    """Seconds for which a response waits for a worker of its version."""
    steps: int = 10_000
    """Steps and items of one response."""
    step_bytes: int = 1024 * 1024
    """The JSON of one result."""
    journal_bytes: int = 64 * 1024 * 1024
    """All keys and results of one response."""


@dataclass(slots=True, eq=False)
class JobParts:
    """What background responses need."""

    store: Store
    process: ProcessState
    run: RunParts
    meter: Meter
    counter: Counter
    """Counts jobs by their outcome."""
    queue_per_tenant: int
    """Background responses of one tenant that can be queued."""
    agents: KnownAgents
    """The agents that workers serve."""
    agent_limits: AgentLimits
    shared: SharedResources
    """The capacity that tenants share in this process."""


@dataclass(slots=True, eq=False)
class IngestionParts:
    """What the ingestion of files into vector stores needs."""

    store: Store
    process: ProcessState
    files: "Lazy[FileReader]"
    texts: "Lazy[FileTexts]"
    embeddings: "Callable[[str], EmbeddingModel]"
    """Returns the embeddings client for a model, which knows the limits of its server."""
    outages: Outages
    """Embedding models that do not answer."""
    quota: StorageQuota
    memory: Memory
    offload: Offload
    shared: SharedResources
