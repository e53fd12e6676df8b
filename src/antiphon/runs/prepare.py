"""A request becomes a `RunPlan`: everything that it may or may not use is decided here, once."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.access.unseal import opener
from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.messages import CompactionTrigger, InputItem, kinds_of
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import FunctionTool
from antiphon.protocol.validation.call_rules import CALLS, call_ids
from antiphon.runs.context import Context, conversation_locked, conversation_not_found, gather
from antiphon.runs.persistence import ForegroundRecorder, Recorder, RequestIdentity, Retention
from antiphon.runs.plan import ResumeState, RunPlan
from antiphon.runs.response import open_response, view_of
from antiphon.runs.services import Services
from antiphon.runs.tool_policy import CONCERNED, look_at_tools
from antiphon.storage.contract import LockResult, StoredItem
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects import Api
from antiphon.upstream.backend_state import Target
from antiphon.upstream.router import Route, chains_of

BRINGS_WORK: frozenset[type[Any]] = frozenset({*CONCERNED, ToolSearchCall, ToolSearchOutput})
"""Items of which something may follow for this server beside asking the model once."""

CALLED = frozenset(CALLS)
NO_IDS = frozenset[str]()


async def prepare(
    services: Services,
    request: CreateResponse,
    identity: RequestIdentity,
    recalled: Sequence[StoredItem] | None = None,
    *,
    generates: bool = True,
) -> RunPlan:
    """Return the plan of a response that a client waits for. Raises `ClientError` for what can be rejected now.

    `recalled` is what the previous response leaves to this one, where that is known without the store.
    """
    tenant, conversation = identity.tenant, request.conversation
    is_recorded = request.store is not False or conversation is not None or identity.key
    recorder = _recorder_of(services, request, identity) if is_recorded else None
    try:
        if recorder is not None and (identity.key or recorder.conversation_id is not None):
            await _hold(services, recorder)
        context = await gather(
            request, services.store, services.new_id, tenant, recalled, needs_input=generates, chains=services.chains
        )
        if recorder is not None:
            recorder.context = context
        models, model = services.models, request.model
        candidates = models.known.get(model) or await models.candidates(model)
        is_cached = generates and (request.antiphon is not None or candidates.caches)
        cache = services.cache.lookup(request, context.items, context.tenant, candidates) if is_cached else None
        has_chain = request.previous_response_id or conversation or request.prompt_cache_key
        chains = chains_of(request, tenant) if has_chain else ()
        route = Route(services.router, candidates, chains, tenant, is_patient=False, is_late=cache is not None)
        items, kinds = context.items, context.items.kinds
        is_plain = request.tools is None and BRINGS_WORK.isdisjoint(kinds)
        may_compact = request.context_management is not None or CompactionTrigger in kinds
        return RunPlan(
            request=services.toolset.described(request) if request.tools else request,
            context=context,
            items=items,
            response=open_response(request, identity.response_id, int(services.now())),
            view=view_of(request),
            route=route,
            chains=chains,
            unseal=opener(services.keyring, tenant, refuses=services.strict_seals),
            recorder=recorder,
            tools=None if is_plain else tools_of(services.toolset, request, items),
            compacts=may_compact and compacts(request, items),
            cache=cache,
            resume=None,
            ignored_tools=() if is_plain else checked_tools(services, request, items, route.target),
            is_stream=bool(request.stream),
            call_ids=NO_IDS if CALLED.isdisjoint(kinds) else call_ids(items),
        )
    except BaseException:
        if recorder is not None:
            await recorder.drop()
        raise


async def prepare_again(
    services: Services, request: CreateResponse, tenant: str, recorder: Recorder, response_id: str, resume: ResumeState
) -> RunPlan:
    """Return the plan of a response that was queued, or that an earlier attempt began: its log is a stream."""
    context = await gather(request, services.store, services.new_id, tenant, chains=services.chains)
    candidates = await services.models.candidates(request.model)
    is_cached = resume.begins and (request.antiphon is not None or candidates.caches)
    cache = services.cache.lookup(request, context.items, context.tenant, candidates) if is_cached else None
    chains = chains_of(request, tenant)
    route = Route(services.router, candidates, chains, tenant, is_patient=True)
    items, request = context.items, replace(request, stream=True)
    return RunPlan(
        request=services.toolset.described(request) if request.tools else request,
        context=context,
        items=items,
        response=open_response(request, response_id, resume.created_at),
        view=view_of(request),
        route=route,
        chains=chains,
        unseal=opener(services.keyring, tenant, refuses=services.strict_seals),
        recorder=recorder,
        tools=services.toolset if resume.work.calls else tools_of(services.toolset, request, items),
        compacts=compacts(request, items),
        cache=cache,
        resume=resume,
        ignored_tools=(),
        is_stream=True,
        call_ids=call_ids(items),
    )


def tools_of(toolset: Toolset, request: CreateResponse, items: Sequence[InputItem]) -> Toolset | None:
    """Return the tools where something beside the model's own answer may have to be done, else None."""
    if request.tools is not None and not {FunctionTool}.issuperset(map(type, request.tools)):
        return toolset
    return None if BRINGS_WORK.isdisjoint(kinds_of(items)) else toolset


def compacts(request: CreateResponse, items: Sequence[InputItem]) -> bool:
    """Whether the context may have to be compacted: the client asks for it, now or from a size on."""
    return bool(request.context_management) or (bool(items) and isinstance(items[-1], CompactionTrigger))


def _recorder_of(services: Services, request: CreateResponse, identity: RequestIdentity) -> ForegroundRecorder | None:
    is_stored, conversation_id = request.store is not False, request.conversation_id
    if not (is_stored or conversation_id or identity.key):
        return None
    return ForegroundRecorder(
        services.store,
        Retention(identity.tenant, is_stored, services.retention),
        Context(),
        identity,
        conversation_id,
        is_stream=bool(request.stream),
        holding=services.holding,
    )


async def _hold(services: Services, recorder: ForegroundRecorder) -> None:
    """Hold what no other response may use meanwhile. Raises `ClientError` for a conversation that is in use."""
    identity, conversation_id = recorder.ticket, recorder.conversation_id
    services.holding.add(identity.response_id)
    if conversation_id is None:
        return
    held = await services.store.lock(identity.tenant, conversation_id, identity.response_id, services.worker)
    if held is LockResult.UNKNOWN:
        raise conversation_not_found(conversation_id)
    if held is LockResult.BUSY:
        raise conversation_locked()


def checked_tools(
    services: Services, request: CreateResponse, items: Sequence[InputItem], target: Target
) -> Sequence[str]:
    """Return the types of tools that are left out. Raises `ClientError` for a tool that cannot be used as given."""
    if request.tools is None and BRINGS_WORK.isdisjoint(kinds_of(items)):
        return ()
    api: Api = target.api_for(request, items)
    ignored = look_at_tools(request, items, api, services.toolset.served, refuses=services.strict_tools)
    if api == "chat":
        services.toolset.check(request.tools or ())
    return ignored
