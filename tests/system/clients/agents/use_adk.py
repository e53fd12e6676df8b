"""Google's ADK with LiteLLM as its model, which turns its requests into those of the Responses
API.
"""

from typing import Any

import scenarios
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel


class Place(BaseModel):
    name: str


def add(x: int, y: int) -> str:
    """Add two numbers."""
    return f"the sum is {x + y}"


async def reported(
    url: str, *spoken: str, streaming: bool = False, **described: Any
) -> list[list[str]]:
    """Return the texts of the events with which an agent answers each of these messages."""
    model = LiteLlm("openai/responses/gpt-5", api_base=url, api_key="sk-test")
    agent = LlmAgent(name="pilot", model=model, instruction="Be brief.", **described)
    runner = InMemoryRunner(agent, app_name="harbour")
    session = await runner.session_service.create_session(app_name="harbour", user_id="ada")
    how = RunConfig(streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE)
    stated = []
    for words in spoken:
        message = types.Content(role="user", parts=[types.Part(text=words)])
        texts: list[str] = []
        async for event in runner.run_async(
            user_id="ada", session_id=session.id, new_message=message, run_config=how
        ):
            parts = (event.content.parts if event.content else None) or []
            texts += [part.text for part in parts if part.text]
        stated.append(texts)
    await runner.close()
    return stated


async def text(url: str) -> list[Any]:
    return [texts[-1] for texts in await reported(url, "hi")]


async def stream(url: str) -> list[Any]:
    ((*pieces, whole),) = await reported(url, "hi", streaming=True)
    return [whole, len(pieces) > 1]


async def tool(url: str) -> list[Any]:
    return [
        (await reported(url, "What is 1 + 2?", streaming=one, tools=[add]))[0][-1]
        for one in (False, True)
    ]


async def schema(url: str) -> list[Any]:
    return [
        Place.model_validate_json(
            (await reported(url, "Where?", output_schema=Place))[0][-1]
        ).model_dump()
    ]


async def chain(url: str) -> list[Any]:
    return [texts[-1] for texts in await reported(url, "hi", "again")]


scenarios.run(text, stream, tool, schema, chain)
