"""Run the Agents SDK (`pip install openai-agents`) and Antiphon in one process, without a server."""

import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

import antiphon

set_tracing_disabled(True)  # otherwise the SDK sends traces to OpenAI


@function_tool
def tide_at(place: str) -> str:
    """Return when the tide is high."""
    return f"In {place} at 14:05."


async def main() -> None:
    # To use your own model, pass `backend="http://127.0.0.1:11434/v1"`. Without a backend, the model is demo.
    async with AsyncOpenAI(api_key="none", http_client=antiphon.async_http_client()) as client:
        model = OpenAIResponsesModel(model="demo", openai_client=client)
        agent = Agent(name="Pilot", instructions="Answer questions about the tide.", model=model, tools=[tide_at])
        result = await Runner.run(agent, 'When is the tide high in Dover?\ncall tide_at {"place": "Dover"}')
        print(result.final_output)


asyncio.run(main())
