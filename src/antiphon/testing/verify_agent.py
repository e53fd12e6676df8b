"""The agent with which `antiphon verify` checks what a server's clients see of agents.

`antiphon serve --agents antiphon.testing.verify_agent` serves it. It needs no model, and acts on
nothing.
"""

from antiphon.agents import AgentContext, agent

ANSWER = ("This is the agent ", "of antiphon ", "verify.")


async def count_words(text: str) -> int:
    """Return the number of words of a text."""
    return len(text.split())


async def request_approval(ctx: AgentContext) -> str:
    """Send a message, and ask the client for its approval."""
    async with ctx.message() as message:
        await message.write("I ask before I act.")
    approval = await ctx.approval("act", {"on": "nothing"})
    return "It is approved." if approval.approved else f"It is rejected: {approval.reason}"


async def call_function(ctx: AgentContext) -> str:
    """Let the client call a function."""
    return f"It returned: {await ctx.client_call('look_up', {'shelf': 7})}"


async def fail(ctx: AgentContext) -> str:
    """Raise an error, with a text that no client may see."""
    raise RuntimeError("This failure is a part of antiphon verify.")


async def answer(ctx: AgentContext) -> None:
    """Show a step, and answer."""
    await ctx.step("count_words", count_words, ctx.input_text, show=True)
    async with ctx.message() as message:
        for words in ANSWER:
            await message.write(words)


BY_WORD = {"approval": request_approval, "function": call_function, "fail": fail}
"""What the agent does if the input has this word; otherwise it answers."""


@agent("verify-agent", version="1")
async def verify_agent(ctx: AgentContext) -> str | None:
    """Do what a word of the input names."""
    named = next((do for word, do in BY_WORD.items() if word in ctx.input_text), answer)
    return await named(ctx)
