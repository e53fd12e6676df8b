"""Compares the prompts of a response with those of the previous turn:
for metrics and a log line.
"""

from collections.abc import Mapping
from typing import Any

from antiphon.errors import log
from antiphon.runs.plan import RunPlan
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.steps import AuxiliaryCall, CallModel
from antiphon.sharing.offload import Offload
from antiphon.translation.to_chat_completions.reuse import Fingerprint, fingerprint, reuse
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.chains import chain_of

CHANGED = (
    "The backend '%s' could reuse %.0f %% of the prompt: %s differs from the prompt of the "
    "previous turn."
)


async def prompt_of(
    step: CallModel | AuxiliaryCall, plan: RunPlan, offload: Offload
) -> Fingerprint | None:
    """Return the fingerprint of a prompt that is sent, None if no later turn can continue it."""
    is_continued = plan.chains or plan.recorder is not None or plan.diagnoses or plan.is_compared
    if (
        step.api != "chat"
        or (isinstance(step, AuxiliaryCall) and not plan.warms)
        or not is_continued
    ):
        return None
    work = plan.context.work_with_chain
    return await offload.run(plan.context.tenant, work, fingerprint, step.body, work)


def compare(
    memory: PromptMemory,
    prompt: Fingerprint,
    body: Mapping[str, Any],
    *,
    plan: RunPlan,
    to: ModelTarget,
    chain: str,
) -> None:
    """Count how much of a prompt the backend could reuse, after it has read it;
    log the first change.

    `body` is the request with the prompt, and `chain` the name of this response's chain
    for later responses.
    """
    tenant = plan.context.tenant
    former = chain_of(tenant, plan.request.previous_response_id or "")
    lasting = [
        name for name in plan.chains if name != former
    ]  # several responses can follow the previous one
    found = reuse(memory.find(tenant, to, (chain, *plan.chains)), prompt, body)
    memory.put(tenant, to, (chain, *lasting), prompt)
    counts = to.state.prompts
    counts.size += found.size
    counts.reused += found.reused
    if found.changed:
        counts.breaks = counts.breaks + 1
        counts.last_break = found.changed
        log.info(CHANGED, to.state.name, 100 * found.reused / found.size, found.changed)
