"""The parts that the objects of the API need: responses, conversations, files, vector stores, prompts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.access.keyring import Keyring
from antiphon.history.bounds import Bounds
from antiphon.ids import Clock, NewId
from antiphon.recording.quota import StorageQuota
from antiphon.runs.parts import RunParts, RunRules
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.memory import Memory
from antiphon.sharing.offload import Offload
from antiphon.storage.contract import Store

if TYPE_CHECKING:
    from antiphon.history.prompted import SettingsPrompt
    from antiphon.search.contract import StoreSearch
    from antiphon.stored.file_text import FileTexts
    from antiphon.stored.files import Files


@dataclass(slots=True)
class ObjectParts:
    """What the objects of the API need."""

    store: Store
    quota: StorageQuota
    bounds: Bounds
    keyring: Keyring
    memory: Memory
    offload: Offload
    files: "Lazy[Files]"
    texts: "Lazy[FileTexts]"
    search: "StoreSearch"
    rules: RunRules
    chunk_tokens: Mapping[str, int]
    """Sizes of chunks by embedding model, for files that are attached without one."""
    named_prompts: "Mapping[str, SettingsPrompt]"
    """The prompts of the settings, by their ids."""
    run: RunParts
    """Translates stored requests again, for the console."""
    new_id: NewId
    now: Clock
