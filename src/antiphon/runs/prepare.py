"""Turns a request into a `RunPlan`: all capabilities that it can use are decided here, once.

The plan also holds the response object before anything was generated: the request's settings,
echoed as the API echoes them (specification section 3).
"""

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from antiphon.access.unseal import Unsealer
from antiphon.history.context import Context, load_context
from antiphon.history.history_errors import conversation_locked, conversation_not_found
from antiphon.protocol.items.messages import CompactionTrigger, InputItem, Message
from antiphon.protocol.requests import (
    BackgroundOptions,
    CreateResponse,
    LocalRequest,
    ReasoningConfig,
    TextConfig,
    TranslatedRequest,
    background_window,
)
from antiphon.protocol.response import ConversationRef, Response
from antiphon.protocol.validation.call_rules import CALLS, call_ids
from antiphon.recording.persistence import ForegroundRecorder, Recorder, RequestIdentity, Retention
from antiphon.runs.echoed_tools import echoed_tools
from antiphon.runs.parts import RunParts
from antiphon.runs.plan import ResumeState, RunPlan
from antiphon.runs.tool_checks import (
    BRINGS_WORK,
    check_stores,
    checked_tools,
    toolset_of,
    with_containers,
)
from antiphon.sharing.memory import Account
from antiphon.sizes import LARGE, MANY
from antiphon.storage.operations import leases
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.to_chat_completions.prefix import ModelConversation
from antiphon.translation.to_chat_completions.request import normalise_input
from antiphon.translation.writer import View
from antiphon.upstream.candidates import Candidates
from antiphon.upstream.chains import chains_of, with_continuation
from antiphon.upstream.router import Route

CALLED = frozenset(CALLS)
NO_IDS = frozenset[str]()
MESSAGES = frozenset({Message})

TEXT = {"format": {"type": "text"}, "verbosity": "medium"}
"""The echo if the request does not set `text`."""

REASONING = {"effort": None, "summary": None}
"""The echo if the request does not set `reasoning`."""

SERVICE_TIERS = {"auto": "default", "fast": "priority"}
"""The echo for a service tier that differs from it."""

OWN_CACHE_OPTIONS = frozenset({"prewarm", "comparison_response_id"})
"""Keys of `prompt_cache_options` that this server applies itself; the response echoes them."""

ECHOED = (
    *("background", "instructions", "max_output_tokens", "max_tool_calls", "parallel_tool_calls"),
    *("previous_response_id", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    *(
        "safety_identifier",
        "store",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "presence_penalty",
    ),
    *("frequency_penalty", "truncation", "user", "metadata"),
)
"""Fields that are echoed unchanged. `Response` has the API's defaults for unset ones."""


async def prepare(
    parts: RunParts,
    request: CreateResponse,
    identity: RequestIdentity,
    recalled: Sequence[StoredItem] | None = None,
    *,
    generates: bool = True,
) -> RunPlan:
    """Return the plan of a response that a client waits for.

    Raises `ClientError` if the request can be rejected now.

    `recalled` is the state that the previous response left for this one, if it is known
    without the store.
    """
    tenant = identity.tenant
    context = None
    # Most of what follows is skipped for a request that uses none of it: see "Unused features cost
    # nothing" in `docs/why/life-of-a-request.md`.
    is_recorded = request.store is not False or request.conversation is not None or identity.key
    recorder = _recorder_of(parts, request, identity) if is_recorded else None
    try:
        # The lease first: another response in the same conversation could change the history that
        # is loaded next.
        if recorder is not None and (identity.key or recorder.conversation_id is not None):
            await _hold(parts, recorder)
        # Before the model works: afterwards, its answer could not be stored.
        if recorder is not None and parts.history.bounds.stored_bytes:
            recorder.reservation = await parts.quota.reserve(tenant, identity.size)
        # Most requests begin with a few messages: their context needs no store, no memory account
        # and no check.
        is_small = recalled is None and identity.work <= LARGE
        context = _new_context(parts, request, tenant) if is_small else None
        if context is None:
            work = identity.work
            context = await load_context(
                parts.history, request, tenant, recalled, needs_input=generates, work=work
            )
        if recorder is not None:
            recorder.context = context
        # Usually one look-up; for an unknown model, the registry may ask the backends for their
        # lists of models.
        candidates = parts.models.known.get(request.model) or await parts.models.candidates(
            request.model
        )
        if candidates.preset is not None:
            request = candidates.preset.applied_to(request)
        response = open_response(request, identity.response_id, int(parts.now()))
        plan = _plan_of(
            parts, request, context, candidates, response, recorder, uses_cache=generates
        )
        # Only tools need more than the plan: unknown vector stores are rejected now, while that can
        # be a 404.
        if plan.tools is not None:
            await check_stores(parts, request, plan.items, plan.route.target, tenant)
            plan = await with_containers(parts, plan)
        return plan
    except BaseException:
        # Nothing runs yet that could release these later.
        if context is not None:
            context.release()
        if recorder is not None:
            await recorder.drop()
        raise


async def prepare_again(
    parts: RunParts,
    request: CreateResponse,
    tenant: str,
    recorder: Recorder,
    response_id: str,
    resume: ResumeState,
    memory: Account,
) -> RunPlan:
    """Return the plan of a response that was queued, or that an earlier attempt began:
    its log is a stream.

    `memory` is the account of its worker, which closes it.
    """
    context = await gather(parts, request, tenant, work=resume.size, memory=memory)
    candidates = await parts.models.candidates(request.model)
    if candidates.preset is not None:
        request = candidates.preset.applied_to(request)
    request = replace(request, stream=True)
    response = open_response(request, response_id, resume.created_at)
    plan = _plan_of(
        parts,
        request,
        context,
        candidates,
        response,
        recorder,
        uses_cache=resume.begins,
        resume=resume,
    )
    return plan if plan.tools is None else await with_containers(parts, plan)


def _plan_of(
    parts: RunParts,
    request: CreateResponse,
    context: Context,
    candidates: Candidates,
    response: Response,
    recorder: Recorder | None,
    *,
    uses_cache: bool,
    resume: ResumeState | None = None,
) -> RunPlan:
    """Decide which capabilities a response uses.

    Raises `ClientError` if no candidate backend has them.
    """
    # Parameters that are not in the API, which only some backends accept.
    refuses_seals = parts.rules.strict_seals
    is_compared = False
    if isinstance(request, LocalRequest):
        candidates = candidates.taking(request.parameters)
        if isinstance(request, TranslatedRequest):
            refuses_seals = False
            is_compared = request.is_compared
            # A cached answer does not say at which sequence it ended.
            uses_cache = uses_cache and not request.stop
    items = context.items
    tenant = context.tenant
    # The options that this server applies itself must not reach the backend.
    warms = diagnoses = False
    if request.prompt_cache_options is not None:
        warms = request.prompt_cache_options.get("prewarm") is True
        diagnoses = request.prompt_cache_options.get("comparison_response_id") is not None
        request = replace(
            request, prompt_cache_options=forwarded_options(request.prompt_cache_options)
        )
    # A warm-up has no output to store. Else the request or a backend's settings must
    # want the cache.
    uses_cache = uses_cache and not warms and (request.antiphon is not None or candidates.caches)
    cache = parts.cache.lookup(request, items, tenant, candidates) if uses_cache else None
    # A backend that has the beginning of this prompt in its own cache is preferred.
    has_chain = request.previous_response_id or request.conversation or request.prompt_cache_key
    chains = chains_of(request, tenant) if has_chain else ()
    preferred = with_continuation(chains, request, tenant) if request.background_options else chains
    # A client waits for a new response, so it is rejected if no backend is free. A queued one waits
    # itself: it is patient. With a cache, the answer may need no backend, so a rejection has to
    # wait for the lookup.
    is_new = resume is None
    is_late = is_new and cache is not None
    defers_for = 0.0 if resume is None else resume.defers_for
    route = Route(
        *(parts.router, candidates, preferred, tenant),
        is_patient=not is_new,
        is_late=is_late,
        defers_for=defers_for,
    )
    # `kinds` was collected when the items were, so these questions cost no loop over them.
    is_plain = request.tools is None and BRINGS_WORK.isdisjoint(items.kinds)
    may_compact = request.context_management is not None or CompactionTrigger in items.kinds
    # Calls that an earlier attempt began need their executor, whatever the request looks like now.
    has_begun_calls = resume is not None and bool(resume.checkpoint.calls)
    tools = None if is_plain else toolset_of(parts.toolset, request, items)
    return RunPlan(
        request=parts.toolset.described(request) if request.tools else request,
        context=context,
        items=items,
        response=response,
        view=view_of(request),
        route=route,
        chains=chains,
        unseal=Unsealer(parts.keyring, tenant, refuses_seals, context.opened),
        recorder=recorder,
        tools=parts.toolset if has_begun_calls else tools,
        compacts=may_compact and compacts(request, items),
        cache=cache,
        resume=resume,
        ignored_tools=checked_tools(parts, request, items, route.target)
        if is_new and not is_plain
        else (),
        is_stream=bool(request.stream),
        warms=warms,
        diagnoses=diagnoses,
        is_compared=is_compared,
        call_ids=NO_IDS if CALLED.isdisjoint(items.kinds) else call_ids(items),
    )


async def gather(
    parts: RunParts,
    request: CreateResponse,
    tenant: str,
    *,
    work: int = 0,
    memory: Account | None = None,
) -> Context:
    """Return the context of a request, by the shortest way. See `load_context`."""
    context = _new_context(parts, request, tenant) if work <= LARGE else None
    if context is not None:
        context.memory = memory  # memory for its files is reserved as patiently as for a history
    return context or await load_context(parts.history, request, tenant, work=work, memory=memory)


def _new_context(parts: RunParts, request: CreateResponse, tenant: str) -> Context | None:
    """Return the context of a request that begins with messages alone; None if more must be
    loaded or checked.
    """
    request_input = request.input
    if (
        not request_input
        or request.previous_response_id is not None
        or request.conversation is not None
    ):
        return None
    most = min(MANY, parts.history.bounds.items)
    if not isinstance(request_input, str) and (
        len(request_input) > most or not MESSAGES.issuperset(map(type, request_input))
    ):
        return None
    items = normalise_input(request_input, parts.new_id)
    return Context(input=items, tenant=tenant, items=ModelConversation(items))


def compacts(request: CreateResponse, items: Sequence[InputItem]) -> bool:
    """Whether the context may have to be compacted: the client requests it,
    now or above a threshold.
    """
    return bool(request.context_management) or (
        bool(items) and isinstance(items[-1], CompactionTrigger)
    )


def _recorder_of(
    parts: RunParts, request: CreateResponse, identity: RequestIdentity
) -> ForegroundRecorder | None:
    is_stored = request.store is not False
    conversation_id = request.conversation_id
    if not (is_stored or conversation_id or identity.key):
        return None
    return ForegroundRecorder(
        parts.store,
        Retention(identity.tenant, is_stored, parts.rules.retention),
        Context(),
        identity,
        conversation_id,
        is_stream=bool(request.stream),
        leases=parts.process.leases,
        offload=parts.offload,
    )


async def _hold(parts: RunParts, recorder: ForegroundRecorder) -> None:
    """Acquire the leases that exclude other responses.

    Raises `ClientError` for a conversation that is in use.
    """
    identity = recorder.identity
    conversation_id = recorder.conversation_id
    parts.process.leases.add(identity.response_id)
    if conversation_id is None:
        return
    retained = await parts.store.write(
        leases.hold, identity.tenant, conversation_id, identity.response_id, parts.process.worker
    )
    if retained is LockResult.UNKNOWN:
        raise conversation_not_found(conversation_id)
    if retained is LockResult.BUSY:
        raise conversation_locked()


def forwarded_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cache options of a request that its backend receives, None without any."""
    return {name: value for name, value in options.items() if name not in OWN_CACHE_OPTIONS} or None


def open_response(request: CreateResponse, response_id: str, created_at: int) -> Response:
    """Return the response object before anything was generated."""
    echoed: dict[str, Any] = {}
    # Unset fields are not echoed here, because `Response` has the API's defaults for them.
    for name in ECHOED:
        if (value := getattr(request, name)) is not None:
            echoed[name] = value
    echoed["reasoning"] = REASONING if request.reasoning is None else _reasoning(request.reasoning)
    echoed["text"] = TEXT if request.text is None else _text(request.text)
    if request.conversation is not None:
        echoed["conversation"] = ConversationRef(id=str(request.conversation_id))
    if request.service_tier is not None:
        echoed["service_tier"] = SERVICE_TIERS.get(request.service_tier, request.service_tier)
    if request.background_options is not None:
        echoed["background_options"] = _background_options(request, request.background_options)
    # Unlike the request, the response shows the messages of a stored prompt in `instructions`.
    if request.prompt is not None:
        from antiphon.history.prompted import echoed as of_prompt  # noqa: PLC0415 - few requests name a prompt

        echoed |= of_prompt(request)
    if request.tools is not None:
        echoed["tools"] = echoed_tools(request.tools)
    return Response(id=response_id, created_at=created_at, model=request.model, **echoed)


def _background_options(request: CreateResponse, options: BackgroundOptions) -> dict[str, str]:
    echoed = {"completion_window": background_window(request)}
    return (
        echoed
        if options.continuation_id is None
        else echoed | {"continuation_id": options.continuation_id}
    )


def view_of(request: CreateResponse) -> View:
    """Return the parts of the response that this request includes.

    Without storage, reasoning items always contain their `encrypted_content`
    (specification section 10.4).
    """
    include = request.include or ()
    options = request.stream_options
    keeps_reasoning = "reasoning.encrypted_content" in include
    return View(
        summary=request.reasoning is not None and request.reasoning.summary is not None,
        encrypted=keeps_reasoning or request.store is False,
        signed_ids=request.store is False and not keeps_reasoning,
        sources="web_search_call.action.sources" in include,
        results="web_search_call.results" in include,
        file_results="file_search_call.results" in include,
        code_outputs="code_interpreter_call.outputs" in include,
        logprobs="message.output_text.logprobs" in include or bool(request.top_logprobs),
        rivals=request.top_logprobs or 0,
        obfuscation=bool(request.stream)
        and (options is None or options.include_obfuscation is not False),
    )


def _reasoning(reasoning: ReasoningConfig) -> dict[str, Any]:
    set_fields = {
        name: value for name, value in to_builtins(reasoning).items() if value is not None
    }
    return REASONING | set_fields


def _text(text: TextConfig) -> dict[str, Any]:
    echoed = to_builtins(text)
    return {name: echoed[name] or default for name, default in TEXT.items()}
