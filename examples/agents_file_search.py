"""Search a vector store with the Agents SDK and a running server: `python agents_file_search.py vs_… "When is …?"`."""

import sys

from agents import Agent, FileSearchTool, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)  # otherwise the SDK sends traces to OpenAI

store_id, question = sys.argv[1:]
client = AsyncOpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
agent = Agent(
    name="Pilot",
    instructions="Answer from the files.",
    model=OpenAIResponsesModel(model="demo", openai_client=client),
    tools=[FileSearchTool(vector_store_ids=[store_id], max_num_results=5)],
)
print(Runner.run_sync(agent, question).final_output)
