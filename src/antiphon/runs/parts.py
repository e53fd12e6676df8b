"""The parts that a response needs while it runs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.access.keyring import Keyring
from antiphon.cache.cache import AnswerCache
from antiphon.history.parts import HistoryParts
from antiphon.ids import Clock, NewId
from antiphon.process import ProcessState
from antiphon.recording.facts_writer import FactsWriter
from antiphon.recording.quota import StorageQuota
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.offload import Offload
from antiphon.storage.store import Store
from antiphon.telemetry.observers import Observers
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

if TYPE_CHECKING:
    from antiphon.history.attachments import Attachments
    from antiphon.history.vision import Vision


@dataclass(slots=True, eq=False)
class RunRules:
    """The settings of responses."""

    retention: int
    """Seconds until a response expires."""
    strict_tools: bool
    """Tools that this server cannot run are rejected, not omitted."""
    strict_seals: bool
    """An `encrypted_content` that cannot be opened is rejected, not omitted."""
    images_model: str
    """The model that generates images if a request names none; empty for none."""
    embedding_model: str
    """Model that embeds the chunks of new vector stores; empty for none."""


@dataclass(slots=True, eq=False)
class RunParts:
    """What a response needs. `new_id` and `now` are passed in, so that a trace is reproducible."""

    store: Store
    models: ModelRegistry
    router: Router
    cache: AnswerCache
    toolset: Toolset
    """The tools that this server runs."""
    history: HistoryParts
    attachments: "Lazy[Attachments]"
    """Reads the files in requests."""
    vision: "Vision | None"
    """Describes images for models without vision; None if these receive images unchanged."""
    keyring: Keyring
    quota: StorageQuota
    observers: Observers
    facts: FactsWriter | None
    """Stores facts about responses; None if they are not stored."""
    prompts: PromptMemory | None
    """The newest prompts of sessions; None if prompts are not compared."""
    offload: Offload
    """Threads for work on large requests."""
    process: ProcessState
    rules: RunRules
    new_id: NewId
    now: Clock
