"""LiveKit's plugin: an assistant for speech, over WebSocket and over HTTP; each turn follows the
stored one before.
"""

import json
from typing import Any

import scenarios
from livekit.agents import llm, utils
from livekit.plugins.openai.responses import LLM
from livekit.plugins.openai.tools import WebSearch


@llm.function_tool
async def add(x: int, y: int) -> str:
    """Add two numbers."""
    return f"the sum is {x + y}"


async def send(model: LLM, context: llm.ChatContext, tools: list[Any]) -> tuple[str, list[Any]]:
    """Return the text and the calls of one turn, and add both to the conversation."""
    texts = []
    calls = []
    async with model.chat(chat_ctx=context, tools=tools) as stream:
        async for chunk in stream:
            if chunk.delta:
                texts.append(chunk.delta.content or "")
                calls += chunk.delta.tool_calls
    if text := "".join(texts):
        context.add_message(role="assistant", content=text)
    for call in calls:
        context.insert(
            llm.FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
        )
    return text, calls


async def turns(model: LLM, *spoken: str, tools: list[Any] | None = None) -> list[Any]:
    context = llm.ChatContext.empty()
    stated = []
    context.add_message(role="system", content="Be brief.")
    for words in spoken:
        context.add_message(role="user", content=words)
        text, calls = await send(model, context, tools or [])
        for call in calls:
            output = await add(**json.loads(call.arguments))
            context.insert(
                llm.FunctionCallOutput(
                    call_id=call.call_id, name=call.name, output=output, is_error=False
                )
            )
        if calls:
            text, _ = await send(model, context, tools or [])
        stated.append(text)
    await model.aclose()
    return stated


def over_http(url: str) -> LLM:
    return LLM(model="fake-model", api_key="sk-test", base_url=url, use_websocket=False)


def over_websocket(url: str) -> LLM:
    return LLM(model="fake-model", api_key="sk-test", base_url=f"{url}/responses")


MODELS = (over_http, over_websocket)


async def stream(url: str) -> list[Any]:
    async with utils.http_context.open():
        return [await turns(make(url), "hi") for make in MODELS]


async def tool(url: str) -> list[Any]:
    async with utils.http_context.open():
        return [await turns(make(url), "What is 1 + 2?", tools=[add]) for make in MODELS]


async def chain(url: str) -> list[Any]:
    async with utils.http_context.open():
        return [await turns(make(url), "hi", "again") for make in MODELS]


async def hosted(url: str) -> list[Any]:
    async with utils.http_context.open():
        return [
            await turns(make(url), "When is high water?", tools=[WebSearch()]) for make in MODELS
        ]


scenarios.run(stream, tool, chain, hosted)
