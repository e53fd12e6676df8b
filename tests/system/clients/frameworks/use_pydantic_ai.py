"""pydantic-ai: several system prompts, and calls that it sends back without their reasoning."""

from typing import Any

import task
from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


def begin(url: str, model: str, schema: Any) -> task.Send:
    named = OpenAIResponsesModel(model, provider=OpenAIProvider(base_url=url, api_key="sk-test"))
    tools: Any = [
        Tool.from_schema(task.tide, "tide", "Tell the tide.", schema),
        Tool.from_schema(task.ping, "ping", "Ping.", {"type": "object"}),
    ]
    agent: Any = Agent(
        named, instructions="Be brief.", system_prompt=task.RULES, tools=tools, retries=3
    )

    async def send(streamed: bool) -> str:
        if not streamed:
            return str((await agent.run(task.SPOKEN[1])).output)
        async with agent.run_stream(task.SPOKEN[1]) as running:
            return str(await running.get_output())

    return send


task.run(begin)
