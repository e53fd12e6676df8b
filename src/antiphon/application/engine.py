"""Settings become an engine, with the limits and the cache that they ask for."""

from functools import partial

from antiphon import ids
from antiphon.access.keyring import Keyring
from antiphon.cache.cache import Room
from antiphon.cache.semantic import Similarity
from antiphon.config import Settings
from antiphon.runs.bounds import Bounds
from antiphon.runs.engine import Engine
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.respond import respond
from antiphon.runs.vision import Vision
from antiphon.sharing.memory import Memory
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.contract import Store
from antiphon.telemetry.metrics import Measures
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry


def engine_of(
    settings: Settings,
    models: ModelRegistry,
    store: Store,
    toolset: Toolset,
    keyring: Keyring,
    measures: Measures,
    shared: SharedResources,
    reads: FairScheduler,
) -> Engine:
    """Return the engine that these settings ask for, of parts that are made already."""
    engine = Engine(
        models,
        store,
        ids.new_id,
        ids.now,
        settings.retention_days * 86_400,
        toolset=toolset,
        keyring=keyring,
        strict_tools=settings.strict_tools,
        strict_seals=settings.strict_seals,
        measures=measures,
        room=_room(settings),
        queue_per_tenant=settings.background_queue_per_tenant,
        shared=shared,
        max_responses=settings.max_responses,
        prompts=PromptMemory() if settings.compare_prompts else None,
        bounds=_bounds(settings),
        memory=Memory(max(settings.max_bodies, settings.max_body), settings.max_body),
        reads=reads,
        currency=settings.currency,
    )
    if settings.vision:
        engine.vision = Vision(settings.vision, partial(respond, engine), engine.cache, measures.images)
    return engine


def _bounds(settings: Settings) -> Bounds:
    return Bounds(
        settings.max_items,
        settings.max_history_items,
        settings.max_history_bytes,
        settings.max_conversation_items,
        settings.max_conversation_bytes,
        settings.max_stored_bytes,
    )


def _room(settings: Settings) -> Room:
    name = settings.cache_embeddings
    similarity = Similarity(name, settings.cache_similarity) if name else None
    longest = settings.retention_days * 86_400
    return Room(settings.cache_ttl, longest, settings.cache_size * 1024 * 1024, similarity)
