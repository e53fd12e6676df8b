"""The parts of one process, by what needs them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.access.api_keys import KnownKeys
from antiphon.jobs.cleaner import Upkeep
from antiphon.jobs.parts import IngestionParts, JobParts
from antiphon.process import ProcessState
from antiphon.recording.completion_recorder import CompletionParts
from antiphon.recording.idempotency import IdempotencyKeys
from antiphon.runs.parts import RunParts
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.resources import SharedResources
from antiphon.storage.contract import Store
from antiphon.stored.parts import ObjectParts
from antiphon.telemetry.metrics import Measures
from antiphon.tools.base import CodeState
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

if TYPE_CHECKING:
    from antiphon.forwarding.image_answers import ReadImage


@dataclass(slots=True)
class ImageParts:
    """What requests for images need that are passed on."""

    router: Lazy[Router]
    """Routes to the models that generate images: on a dedicated server, else on the backends."""
    read: "ReadImage"
    """Reads an image that a server returns by URL."""
    backends: Router
    """Routes to the backends."""

    async def close(self) -> None:
        """Close the connections to the dedicated server, if it was used."""
        router = self.router.made
        if router is not None and router is not self.backends:
            for served in router.registry.backends:
                await served.backend.close()


@dataclass(slots=True)
class Parts:
    """The parts of one process. Each is complete when it is made."""

    store: Store
    models: ModelRegistry
    process: ProcessState
    run: RunParts
    jobs: JobParts
    ingestion: IngestionParts
    objects: ObjectParts
    completions: CompletionParts
    images: ImageParts
    keys: KnownKeys
    """The API keys."""
    idempotency: IdempotencyKeys
    shared: SharedResources
    """The capacity that tenants share in this process."""
    measures: Measures
    upkeep: Upkeep
    code_state: Callable[[], CodeState] | None
    """Returns the state of the sandbox for code; None if no sandbox is configured."""
