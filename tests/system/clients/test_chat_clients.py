"""Clients of Chat Completions, unmodified, in front of a model that has only a Responses API, and
with a preset that searches the web.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.support.small_web import SmallWeb
from tests.system.clients.ai_sdk import MAJORS, AiSdk, install
from tests.system.clients.model import Call, Model, Turn
from tests.system.clients.other_apis import ResponsesModel

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

NAME = "fake-model"
PRESET = "fake-model-web"
ANSWER = "High water is at nine."
TIDE: Any = {
    "type": "function",
    "function": {
        "name": "tide",
        "parameters": {"type": "object", "properties": {"port": {"type": "string"}}},
    },
}


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[Model, ResponsesModel],
    ids=lambda kind: kind.api,
)
async def acting(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    acting: Model = request.param()
    async with acting.serve():
        yield acting


@pytest.fixture(scope="module")
def backend() -> tuple[str, ...]:
    return ()


@pytest.fixture(scope="module")
def settings(local_tools: str, acting: Model) -> str:
    backend = f'[[backends]]\nurl = "{acting.url}"\napi = "{acting.api}"\n'
    preset = f'[[models]]\nname = "{PRESET}"\nbase = "{NAME}"\n'
    return f'{local_tools}{backend}{preset}hosted_tools = [{{ type = "web_search" }}]\n'


@pytest.fixture(scope="session")
def node() -> Path:
    return install()


def searching(model: Model, web: SmallWeb) -> list[Turn]:
    """The turns of a model that searches: a Responses backend does so itself."""
    if model.api == "responses":
        return [Turn(ANSWER, found=f"{web.site}/harbour")]
    return [Turn(calls=(Call("web_search", {"query": "harbour"}),)), Turn(ANSWER)]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("major", MAJORS)
async def test_the_ai_sdk_gets_an_answer_after_a_search_of_the_preset(
    url: str, model: Model, web: SmallWeb, node: Path, major: int, stream: bool
) -> None:
    model.play(*searching(model, web))
    ai = AiSdk(node, major, stream, url)
    (turn,) = await ai.run("text", "When is high water?", api="chat", model=PRESET)

    assert (turn["text"], turn["finishReason"], turn["warnings"]) == (ANSWER, "stop", [])
    assert [part["type"] for part in turn["content"]] == ["text"]
    assert "web_search" in str(model.requests[0]["tools"])


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("major", MAJORS)
async def test_the_ai_sdk_runs_a_tool_of_its_own(
    url: str, model: Model, node: Path, major: int, stream: bool
) -> None:
    model.play(Turn(calls=(Call("add", {"x": 1, "y": 2}),), reasoning="I count."), Turn("Three."))
    ai = AiSdk(node, major, stream, url)
    (turn,) = await ai.run("tools", "1 + 2?", api="chat")

    assert (turn["text"], turn["finishReason"], turn["steps"]) == ("Three.", "stop", 2)
    assert '{\\"sum\\":3}' in model.sent_to()


async def test_the_official_sdk_streams_a_call_and_the_answer(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(Turn("I look.", calls=(Call("tide", {"port": "Dover"}),)), Turn(ANSWER))
    messages: list[Any] = [{"role": "user", "content": "When is high water?"}]
    async with sdk.chat.completions.stream(model=PRESET, messages=messages, tools=[TIDE]) as stream:
        choice = (await stream.get_final_completion()).choices[0]
    calls = choice.message.tool_calls or []
    messages.append(choice.message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": calls[0].id, "content": "It is high."})
    second = await sdk.chat.completions.create(model=PRESET, messages=messages, tools=[TIDE])

    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "I look.")
    assert calls[0].function.arguments == '{"port": "Dover"}'
    assert second.choices[0].message.content == ANSWER
    assert "It is high." in model.sent_to()
