"""Builds the parts of a process, in the order in which they need each other."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from antiphon.access.api_keys import KnownKeys
from antiphon.build.attachments import FileParts, file_parts_of
from antiphon.build.foundation import Foundation
from antiphon.build.images import image_parts_of, image_tool_of
from antiphon.build.search import SearchParts, search_parts_of
from antiphon.build.tools import OutsideTools, toolset_of
from antiphon.cache.cache import AnswerCache, CacheRoom
from antiphon.cache.semantic import Similarity
from antiphon.gateway.parts import ImageParts, ObjectParts, Parts
from antiphon.history.chain_cache import ChainCache
from antiphon.history.parts import HistoryParts
from antiphon.jobs.known_agents import KnownAgents
from antiphon.jobs.parts import AgentLimits, IngestionParts, JobParts
from antiphon.recording.facts_writer import FactsWriter
from antiphon.runs.parts import RunParts, RunRules
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.respond import respond
from antiphon.status.upkeep import Upkeep
from antiphon.tools.registry import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.build.code import CodeSandbox
    from antiphon.history.prompted import SettingsPrompt


@dataclass(slots=True, eq=False)
class ToolParts:
    """What calls of tools use that is not in this process."""

    outside: OutsideTools
    sandbox: "CodeSandbox | None" = None
    """Runs code; None if the settings name no sandbox."""
    images_key: str = ""
    """The key of the server that generates images; empty for none."""


def parts_of(base: Foundation, tools: ToolParts) -> Parts:
    """Return all parts of a process.

    Nothing is opened: the first request that needs a file or a search does that.
    """
    files = file_parts_of(base)
    search = search_parts_of(base)
    images = image_parts_of(base, files, tools.images_key)
    run = _run_parts(base, files, _toolset(base, tools, files, search, images))
    return Parts(
        store=base.store,
        models=base.models,
        process=base.process,
        run=run,
        jobs=_job_parts(base, run),
        ingestion=_ingestion_parts(base, files, search),
        objects=_object_parts(base, files, search),
        images=images,
        keys=KnownKeys(base.store),
        shared=base.shared,
        measures=base.measures,
        upkeep=Upkeep(),
        messages_models=base.settings.messages_models,
        code_state=tools.sandbox.state if tools.sandbox is not None else None,
    )


def _toolset(
    base: Foundation, tools: ToolParts, files: FileParts, search: SearchParts, images: ImageParts
) -> Toolset:
    code = tools.sandbox.tools(base, files) if tools.sandbox is not None else None
    return toolset_of(
        base.settings, tools.outside, search.search, code, image_tool_of(base, files, images.router)
    )


def _run_parts(base: Foundation, files: FileParts, toolset: Toolset) -> RunParts:
    settings = base.settings
    cache = AnswerCache(base.store, base.router, base.now, _room(base))
    run = RunParts(
        store=base.store,
        models=base.models,
        router=base.router,
        cache=cache,
        toolset=toolset,
        history=_history_parts(base),
        attachments=files.attachments,
        vision=None,
        keyring=base.keyring,
        quota=base.quota,
        observers=base.observers,
        facts=FactsWriter(base.store) if settings.facts else None,
        prompts=PromptMemory() if settings.compare_prompts else None,
        offload=base.offload,
        process=base.process,
        rules=RunRules(
            base.retention,
            settings.strict_tools,
            settings.strict_seals,
            settings.images_model,
            settings.search_embeddings,
        ),
        new_id=base.new_id,
        now=base.now,
    )
    if not settings.vision:
        return run
    from antiphon.history.vision import Vision  # noqa: PLC0415 - few settings name a model for images

    # A response that describes an image is a run too: without `vision`, so that it never describes
    # its own image.
    return replace(
        run, vision=Vision(settings.vision, partial(respond, run), cache, base.measures.images)
    )


def _history_parts(base: Foundation) -> HistoryParts:
    return HistoryParts(
        base.store,
        ChainCache(),
        base.bounds,
        base.reads,
        base.offload,
        base.memory,
        base.keyring,
        base.new_id,
    )


def _room(base: Foundation) -> CacheRoom:
    settings = base.settings
    name = settings.cache_embeddings
    similarity = Similarity(name, settings.cache_similarity) if name else None
    return CacheRoom(
        settings.cache_ttl, base.retention, settings.cache_size * 1024 * 1024, similarity
    )


def _object_parts(base: Foundation, files: FileParts, search: SearchParts) -> ObjectParts:
    return ObjectParts(
        files.files,
        files.texts,
        search.search,
        base.settings.search_chunk_tokens,
        _named_prompts(base),
    )


def _named_prompts(base: Foundation) -> "Mapping[str, SettingsPrompt]":
    if not base.settings.prompts:
        return {}
    from antiphon.build.prompts import named_prompts  # noqa: PLC0415 - few settings have prompts

    return named_prompts(base.settings.prompts)


def _job_parts(base: Foundation, run: RunParts) -> JobParts:
    return JobParts(
        store=base.store,
        process=base.process,
        run=run,
        meter=base.meter,
        counter=base.measures.jobs,
        queue_per_tenant=base.settings.background_queue_per_tenant,
        agents=KnownAgents(base.settings.agents),
        agent_limits=AgentLimits(
            base.settings.agent_pin_wait,
            base.settings.max_agent_steps,
            base.settings.max_step_bytes,
            base.settings.max_journal_bytes,
        ),
        shared=base.shared,
    )


def _ingestion_parts(base: Foundation, files: FileParts, search: SearchParts) -> IngestionParts:
    return IngestionParts(
        store=base.store,
        process=base.process,
        files=files.files,
        texts=files.texts,
        embeddings=search.embeddings,
        outages=search.outages,
        quota=base.quota,
        memory=base.memory,
        offload=base.offload,
        shared=base.shared,
    )
