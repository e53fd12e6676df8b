"""ag2: a text, a stream, a tool, an answer with a schema, and a second turn, over the Responses
API.
"""

from typing import Any

import scenarios
from ag2 import Agent
from ag2.config import OpenAIResponsesConfig
from ag2.events import ModelMessageChunk
from ag2.stream import MemoryStream
from ag2.tools import WebSearchTool
from pydantic import BaseModel


class Place(BaseModel):
    name: str


def add(x: int, y: int) -> str:
    """Add two numbers."""
    return f"the sum is {x + y}"


def agent(url: str, *, streaming: bool = False, **described: Any) -> Any:
    config = OpenAIResponsesConfig(
        "fake-model", api_key="sk-test", base_url=url, streaming=streaming
    )
    return Agent("pilot", prompt="Be brief.", config=config, **described)


async def text(url: str) -> list[Any]:
    return [(await agent(url).ask("hi")).body]


async def stream(url: str) -> list[Any]:
    pieces: list[str] = []
    events = MemoryStream()
    events.where(ModelMessageChunk).subscribe(lambda event: pieces.append(event.content))
    reply = await agent(url, streaming=True).ask("hi", stream=events)
    return [reply.body, len(pieces) > 1, "".join(pieces)]


async def tool(url: str) -> list[Any]:
    plain = await agent(url, tools=[add]).ask("What is 1 + 2?")
    streamed = await agent(url, streaming=True, tools=[add]).ask("What is 1 + 2?")
    return [plain.body, streamed.body]


async def schema(url: str) -> list[Any]:
    reply = await agent(url, response_schema=Place).ask("Where?")
    return [(await reply.content()).model_dump()]


async def chain(url: str) -> list[Any]:
    first = await agent(url).ask("hi")
    return [first.body, (await first.ask("again")).body]


async def hosted(url: str) -> list[Any]:
    return [(await agent(url, tools=[WebSearchTool()]).ask("When is high water?")).body]


scenarios.run(text, stream, tool, schema, chain, hosted)
