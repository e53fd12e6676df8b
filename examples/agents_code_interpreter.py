"""Run code with the Agents SDK and a running server: `python agents_code_interpreter.py "2 ** 99?"`."""

import sys

from agents import Agent, CodeInterpreterTool, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)  # otherwise the SDK sends traces to OpenAI

client = AsyncOpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
agent = Agent(
    name="Analyst",
    instructions="Compute with Python.",
    model=OpenAIResponsesModel(model="demo", openai_client=client),
    tools=[CodeInterpreterTool(tool_config={"type": "code_interpreter", "container": {"type": "auto"}})],
)
print(Runner.run_sync(agent, sys.argv[1]).final_output)
