from typing import Any

from antiphon.agents import AgentContext, StepInterrupted, agent, idempotency_key


def find_order(text: str) -> dict[str, Any]:
    """Look the order up. It only reads, so it can run again."""
    return {"id": text.rsplit(maxsplit=1)[-1], "total": 12.5}


async def pay(order_id: str, amount: float) -> str:
    """Pay the money back. The shop recognises a repetition by its key."""
    return f"receipt {order_id} ({len(idempotency_key())} characters of key)"


@agent("refunds", version="1")
async def refunds(ctx: AgentContext) -> str:
    async with ctx.reasoning() as thought:
        await thought.write("I look the order up.")
    order = await ctx.step("order", find_order, ctx.input_text)
    approval = await ctx.approval("refund", {"order": order["id"], "amount": order["total"]})
    if not approval.approved:
        return f"No refund was made. {approval.reason}"
    try:
        receipt = await ctx.step("refund", pay, order["id"], order["total"], once=True)
    except StepInterrupted:
        return "Unknown: please check the order."
    return f"Refunded {order['total']}: {receipt}"
