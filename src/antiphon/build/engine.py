"""Builds an engine from the settings, with their limits and cache."""

from functools import partial

from antiphon import ids
from antiphon.access.keyring import Keyring
from antiphon.build.attachments import read_attachments
from antiphon.build.files import open_files
from antiphon.build.images import read_image
from antiphon.build.search import open_embeddings, open_search
from antiphon.cache.cache import Room
from antiphon.cache.semantic import Similarity
from antiphon.config import Settings
from antiphon.history.bounds import Bounds
from antiphon.history.vision import Vision
from antiphon.outbound.ssrf import LookUp
from antiphon.recording.facts_writer import FactsWriter
from antiphon.runs.engine import Engine
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.respond import respond
from antiphon.sharing.memory import Memory
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.store import Store
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
    look_up: LookUp | None = None,
) -> Engine:
    """Return the engine of these settings, built from existing parts.

    `look_up` resolves names to addresses.
    """
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
        reserved_output=settings.reserved_output_tokens,
    )
    engine.open_files = partial(open_files, engine, settings)
    engine.open_search = partial(open_search, engine)
    engine.open_embeddings = partial(open_embeddings, engine, settings.search_embeddings_batch)
    engine.images_model = settings.images_model
    engine.read_image = partial(read_image, engine)
    engine.embedding_model = settings.search_embeddings
    engine.chunk_tokens = settings.search_chunk_tokens
    read_attachments(engine, settings, look_up)
    if settings.prompts:
        from antiphon.build.prompts import named_prompts  # noqa: PLC0415 - few settings have prompts

        engine.named_prompts = named_prompts(settings.prompts)
    if settings.facts:
        engine.facts = FactsWriter(store)
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
        settings.code_containers_per_tenant,
        container_memory=settings.code_memory_max,
    )


def _room(settings: Settings) -> Room:
    name = settings.cache_embeddings
    similarity = Similarity(name, settings.cache_similarity) if name else None
    longest = settings.retention_days * 86_400
    return Room(settings.cache_ttl, longest, settings.cache_size * 1024 * 1024, similarity)
