"""The Agents SDK (`pip install openai-agents`) in one process with Antiphon: no server, no port."""

import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

import antiphon

set_tracing_disabled(True)  # traces would go to OpenAI


@function_tool
def tide_at(place: str) -> str:
    """Return when the tide is high."""
    return f"In {place} at 14:05."


async def main() -> None:
    # `backend="http://127.0.0.1:11434/v1"` names your own; without one it is the scripted model demo.
    async with AsyncOpenAI(api_key="none", http_client=antiphon.async_http_client()) as client:
        model = OpenAIResponsesModel(model="demo", openai_client=client)
        agent = Agent(name="Pilot", instructions="Answer questions about the tide.", model=model, tools=[tide_at])
        result = await Runner.run(agent, 'When is the tide high in Dover?\ncall tide_at {"place": "Dover"}')
        print(result.final_output)


asyncio.run(main())
