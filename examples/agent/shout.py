from antiphon.agents import AgentContext, agent


@agent("shout")
async def shout(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        for word in ctx.input_text.upper().split():
            await text.write(word + " ")
