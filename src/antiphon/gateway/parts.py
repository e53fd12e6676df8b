"""The parts of one process, by what needs them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.access.api_keys import KnownKeys
from antiphon.jobs.parts import IngestionParts, JobParts
from antiphon.process import ProcessState
from antiphon.runs.parts import RunParts
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.resources import SharedResources
from antiphon.status.upkeep import Upkeep
from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures
from antiphon.tools.base import CodeState
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

if TYPE_CHECKING:
    from antiphon.forwarding.image_answers import ReadImage
    from antiphon.history.prompted import SettingsPrompt
    from antiphon.objects.file_text import FileTexts
    from antiphon.objects.files import Files
    from antiphon.search.contract import StoreSearch


@dataclass(slots=True, eq=False)
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
        router = self.router.created
        if router is not None and router is not self.backends:
            for backend in router.registry.backends:
                await backend.backend.close()


@dataclass(slots=True, eq=False)
class ObjectParts:
    """What the files, vector stores and prompts of the API need."""

    files: "Lazy[Files]"
    texts: "Lazy[FileTexts]"
    """The texts of files."""
    search: "StoreSearch"
    chunk_tokens: Mapping[str, int]
    """Sizes of chunks by embedding model, for files that are attached without one."""
    named_prompts: "Mapping[str, SettingsPrompt]"
    """The prompts of the settings, by their ids."""


@dataclass(slots=True, eq=False)
class Parts:
    """The parts of one process. Each is complete when it is made."""

    store: Store
    models: ModelRegistry
    process: ProcessState
    run: RunParts
    jobs: JobParts
    ingestion: IngestionParts
    objects: ObjectParts
    images: ImageParts
    keys: KnownKeys
    """The API keys."""
    shared: SharedResources
    """The capacity that tenants share in this process."""
    measures: Measures
    upkeep: Upkeep
    messages_models: Mapping[str, str]
    """The models that answer to names of the Messages API's clients, by patterns of these."""
    code_state: Callable[[], CodeState] | None
    """Returns the state of the sandbox for code; None if no sandbox is configured."""
