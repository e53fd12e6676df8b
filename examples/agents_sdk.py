"""Use the Agents SDK (`pip install openai-agents`) and a tool with a running server."""

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)  # otherwise the SDK sends traces to OpenAI


@function_tool
def tide_at(place: str) -> str:
    """Return when the tide is high."""
    return f"In {place} at 14:05."


client = AsyncOpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
agent = Agent(
    name="Pilot",
    instructions="Answer questions about the tide.",
    model=OpenAIResponsesModel(model="demo", openai_client=client),
    tools=[tide_at],
)

# A real model decides what to call. The scripted model demo makes the calls that its input spells out.
result = Runner.run_sync(agent, 'When is the tide high in Dover?\ncall tide_at {"place": "Dover"}')
print(result.final_output)
