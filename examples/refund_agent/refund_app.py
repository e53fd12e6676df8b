import crash
import shop

from antiphon.agents import AgentContext, StepInterrupted, agent


@agent("refunds")
async def refunds(ctx: AgentContext) -> str:
    order = await ctx.step("order", shop.find_order, ctx.input_text.split()[-1])
    approval = await ctx.approval("refund", order)
    if not approval.approved:
        return "No refund was made."
    try:
        receipt = await ctx.step("refund", shop.refund, order["id"], order["total"], once=True)
    except StepInterrupted:
        return "It is unknown whether the refund was made. Please check the order."
    crash.once()  # after the money was paid, before the client knows
    return f"Refunded {order['total']} euros: {receipt}"
