"""Pipecat: an assistant for speech, as a service of a pipeline over WebSocket and over HTTP, and
without a pipeline.
"""

from typing import Any

import scenarios
from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import FunctionCallResultFrame, LLMContextFrame, LLMTextFrame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.openai.responses.llm import (
    OpenAIResponsesHttpLLMService,
    OpenAIResponsesLLMService,
)
from pipecat.tests.utils import run_test

logger.remove()

NUMBERS = {name: {"type": "integer"} for name in ("x", "y")}
ADD = ToolsSchema([FunctionSchema("add", "Add two numbers.", NUMBERS, ["x", "y"])])


async def add(params: Any) -> None:
    await params.result_callback(f"the sum is {params.arguments['x'] + params.arguments['y']}")


def over_http(url: str) -> Any:
    settings = OpenAIResponsesHttpLLMService.Settings(
        model="fake-model", system_instruction="Be brief."
    )
    return OpenAIResponsesHttpLLMService(api_key="sk-test", base_url=url, settings=settings)


def over_websocket(url: str) -> Any:
    settings = OpenAIResponsesLLMService.Settings(
        model="fake-model", system_instruction="Be brief."
    )
    ws_url = f"ws{url.removeprefix('http')}/responses"
    return OpenAIResponsesLLMService(
        api_key="sk-test", base_url=url, ws_url=ws_url, settings=settings
    )


SERVICES = (over_http, over_websocket)


async def frames(service: Any, *contexts: LLMContext) -> list[Any]:
    """Return the frames with which a service answers conversations."""
    down, _ = await run_test(
        service, frames_to_send=[*map(LLMContextFrame, contexts)], start_timeout=20
    )
    return list(down)


async def text(url: str) -> list[Any]:
    context = LLMContext([{"role": "user", "content": "hi"}])
    return [await over_http(url).run_inference(context)]


async def stream(url: str) -> list[Any]:
    stated = []
    for make in SERVICES:
        context = LLMContext([{"role": "user", "content": "hi"}])
        pieces = [
            one.text for one in await frames(make(url), context) if isinstance(one, LLMTextFrame)
        ]
        stated.append(["".join(pieces), len(pieces) > 1])
    return stated


async def chain(url: str) -> list[Any]:
    stated = []
    for make in SERVICES:
        first = {"role": "user", "content": "hi"}
        reply = {"role": "assistant", "content": "Good morning, Dover."}
        later = LLMContext([first, reply, {"role": "user", "content": "again"}])
        reported = await frames(make(url), LLMContext([first]), later)
        stated.append("".join(one.text for one in reported if isinstance(one, LLMTextFrame)))
    return stated


async def tool(url: str) -> list[Any]:
    stated = []
    for make in SERVICES:
        service = make(url)
        service.register_function("add", add)
        context = LLMContext([{"role": "user", "content": "What is 1 + 2?"}], tools=ADD)
        results = [
            one.result
            for one in await frames(service, context)
            if isinstance(one, FunctionCallResultFrame)
        ]
        stated.append(results)
    return stated


scenarios.run(text, stream, tool, chain)
