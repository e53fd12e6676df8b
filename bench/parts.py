"""The parts of a process for a bench, without a server."""

from antiphon.build.foundation import Foundation
from antiphon.build.parts import ToolParts, parts_of
from antiphon.build.tools import outside_tools_of
from antiphon.config import Settings
from antiphon.gateway.parts import Parts
from antiphon.storage.store import Store
from antiphon.upstream.registry import ModelRegistry


def bench_parts(models: ModelRegistry, store: Store, **settings: int) -> Parts:
    """Return parts with these models and settings, whose responses leave no facts."""
    chosen = Settings(facts=False, **settings)  # type: ignore[arg-type]
    return parts_of(Foundation(chosen, models, store), ToolParts(outside_tools_of(chosen, {})))
