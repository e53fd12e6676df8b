import asyncio

from antiphon.agents import AgentContext, agent


@agent("research", timeout=1800)
async def research(ctx: AgentContext) -> None:
    plan = await ctx.call("demo", f"Three questions, one per line, about: {ctx.input_text}", name="plan")

    async def answer(question: str) -> str:
        async with ctx.scope(question):
            found = await ctx.call("demo", question)
            return found.output_text

    notes = await asyncio.gather(*map(answer, plan.output_text.splitlines()[:3]))
    await ctx.call("demo", "\n\n".join([ctx.input_text, *notes]), name="report", emit="text")
