"""`prompt_cache_diagnostics`: what a backend could reuse of the prompt of another response
(specification section 24).

Both prompts are compared as the backend received them. If the other prompt is not kept, the result
is `unavailable`: `PromptMemory` keeps prompts for the families that cache them
(`dialect.prefix_cache`).
"""

from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.errors import StoreError
from antiphon.protocol.items.messages import Compaction, SentCompaction, kinds_of
from antiphon.protocol.response import Response, Usage
from antiphon.runs.plan import RunPlan
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.storage.operations import responses
from antiphon.storage.store import Store
from antiphon.translation.to_chat_completions.reuse import Fingerprint, compare
from antiphon.translation.to_chat_completions.tokens import BYTES_PER_TOKEN
from antiphon.upstream.backend_state import ModelTarget

NOT_FOUND = {"type": "comparison_response_not_found"}
UNAVAILABLE = {"type": "unavailable"}

COMPACTED = frozenset[type]({Compaction, SentCompaction})

Read = Callable[[dict[str, Any]], Any]

REASONS: dict[str, Read] = {
    "model_changed": lambda response: response.get("model"),
    "prompt_cache_key_changed": lambda response: response.get("prompt_cache_key"),
    "tools_changed": lambda response: response.get("tools"),
    "text_format_changed": lambda response: (response.get("text") or {}).get("format"),
    "reasoning_effort_changed": lambda response: (response.get("reasoning") or {}).get("effort"),
    "verbosity_changed": lambda response: (response.get("text") or {}).get("verbosity"),
    "service_tier_changed": lambda response: response.get("service_tier"),
}
"""Why a prompt misses the cache, by the field that both responses echo; the first that differs
is the reason.
"""


def compared_id(response: Response) -> str | None:
    """Return the id of the response to compare with, None if the request names none."""
    found = (response.prompt_cache_options or {}).get("comparison_response_id")
    return found if isinstance(found, str) else None


async def diagnose(
    store: Store,
    memory: PromptMemory | None,
    plan: RunPlan,
    target: ModelTarget,
    prompt: Fingerprint | None,
    response: Response,
    usage: Usage | None,
) -> dict[str, Any]:
    """Return the diagnostics of a response.

    `prompt` is the one that `target` received, None if it is not kept.

    `usage` has the tokens of the prompt, if the backend reported any: their ratio to the bytes
    estimates the others.
    """
    tenant = plan.context.tenant
    other_id = str(compared_id(response))
    try:
        stored = await store.read(responses.load, tenant, other_id, few=True)
    except StoreError:
        return UNAVAILABLE  # the answer is complete, and must not be lost for its diagnostics
    if stored is None or not stored.is_stored:
        return NOT_FOUND
    other = msgspec.json.decode(stored.body)
    is_other_model = other.get("model") != response.model
    before = memory.of_response(tenant, target, other_id) if memory is not None else None
    if prompt is None or (before is None and not is_other_model):
        return UNAVAILABLE
    compared = compare(before, prompt) if before is not None else None
    if compared is not None and compared.is_continued:
        return {"type": "cache_hit"}
    reported = usage.input_tokens if usage is not None else 0
    tokens = reported or sum(prompt.sizes) // BYTES_PER_TOKEN
    reusable = compared.reusable(tokens) if compared is not None else 0
    return {
        "type": "cache_miss",
        "reason": _reason(other, msgspec.to_builtins(response), plan),
        "cache_missed_tokens": tokens - reusable,
        "comparison_reusable_tokens": reusable,
    }


def _reason(other: dict[str, Any], own: dict[str, Any], plan: RunPlan) -> str:
    """Return the first difference of two responses that explains why the second
    repeats too little.
    """
    changed = (reason for reason, read in REASONS.items() if read(other) != read(own))
    is_compacted = not COMPACTED.isdisjoint(kinds_of(plan.items))
    return next(changed, "context_compacted" if is_compacted else "input_changed")
