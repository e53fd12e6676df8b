from pydantic_ai import Agent

from antiphon.agents import idempotency_key
from antiphon.agents.pydantic_ai import pydantic_ai

agent = Agent(instructions="Help with orders.")


@agent.tool_plain
async def lookup(order: str) -> str:
    """Return the state of an order. It only reads, so it can run again."""
    return f"Order {order} was delivered."


@agent.tool_plain(metadata={"once": True})
async def pay(order: str) -> str:
    """Refund an order. The shop recognises a repetition by its key."""
    return f"Paid for {order}, with a key of {len(idempotency_key())} characters."


orders = pydantic_ai(agent, name="orders", model="demo")
