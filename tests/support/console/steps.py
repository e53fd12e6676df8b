"""Agents: one whose response has steps of all kinds, one that asks its client, and a step that a
crash interrupted.
"""

from contextlib import suppress

from antiphon.agents import AgentContext, StepFailed, agent
from antiphon.storage.operations import steps
from antiphon.storage.operations.step import Operation, query_composed, writes
from antiphon.storage.records.steps import Step, StepState, StepWrite

SECRET = "sk-of-a-tool"


def refuse() -> None:
    """Raise an error."""
    raise ValueError("no such order")


@agent("refunds", version="3")
async def refunds(ctx: AgentContext) -> str:
    """Look up an order, and fail to refund it."""
    order = await ctx.step("look up", lambda: {"order": 17, "authorization": SECRET})
    with suppress(StepFailed):
        await ctx.step("refund", refuse)
    await ctx.save(order)
    return "Not refunded."


@agent("approvals", version="1")
async def approvals(ctx: AgentContext) -> str:
    """Ask whether to refund."""
    answer = await ctx.approval("refund", {"order": 17})
    return "Refunded." if answer.approved else "Kept."


@writes("interrupt_step", is_of_all=True)
def interrupt(response_id: str, place: int) -> Operation[None]:
    """Add a step with `once=True` that began and did not end, as after a crash."""
    ((seq,),) = yield from query_composed("SELECT seq FROM responses WHERE id = $1", (response_id,))
    step = Step(place, "pay/0", StepState.BEGUN, b"{}", b"", 1_795_000_000_000, None, 1, "3")
    yield from steps.put(seq, [StepWrite(step)])
