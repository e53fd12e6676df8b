"""An agent of a program, called by its name like a model."""

import asyncio

from antiphon import AsyncAntiphon
from antiphon.agents import AgentContext, agent


@agent("shout")
async def shout(ctx: AgentContext) -> str:
    return ctx.input_text.upper()


async def main() -> None:
    async with AsyncAntiphon(agents=[shout]) as client:
        response = await client.responses.create(model="shout", input="Refund order 17")
        print(response.output_text)


asyncio.run(main())
