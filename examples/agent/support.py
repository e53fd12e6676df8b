from agents import Agent, function_tool

from antiphon.agents import idempotency_key
from antiphon.agents.openai_agents import openai_agents


@function_tool
async def lookup(order: str) -> str:
    """Return the state of an order. It only reads, so it can run again."""
    return f"Order {order} was delivered."


@function_tool
async def pay(order: str) -> str:
    """Refund an order. The shop recognises a repetition by its key."""
    return f"Paid for {order}, with a key of {len(idempotency_key())} characters."


agent = Agent(name="Support", model="demo", instructions="Help with orders.", tools=[lookup, pay])
support = openai_agents(agent, name="support", once={"pay"})
