"""Images as the official SDKs have them made, unmodified: the OpenAI SDK and the Agents SDK."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from agents import Agent, ImageGenerationTool, OpenAIResponsesModel, RunConfig, Runner
from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from antiphon.testing import assert_event_stream, fold
from tests.support.images_server import ImagesBackend, images_server
from tests.system.clients.model import Call, Model, Turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "fake-model"
QUIET = RunConfig(tracing_disabled=True)
ADAPTER: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
TOOL: Any = {"type": "image_generation", "model": "gpt-image-1", "size": "64x64"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def images() -> AsyncIterator[ImagesBackend]:
    """A server that draws."""
    async with images_server() as server:
        yield server


@pytest.fixture(scope="module")
def settings(images: ImagesBackend) -> str:
    return f'images_backend = "{images.url}"\nimages_model = "painter"\n'


def drawing(prompt: str, action: str = "generate") -> tuple[Turn, ...]:
    """Turns of a model that has an image made."""
    call = Call("image_generation", {"prompt": prompt, "action": action})
    return Turn(calls=(call,)), Turn("Here it is.")


def image_in(response: Any) -> Any:
    (call,) = (item for item in response.output if item.type == "image_generation_call")
    return call


async def test_an_image_is_created_by_the_configured_model(
    sdk: AsyncOpenAI, model: Model, images: ImagesBackend
) -> None:
    images.requests.clear()
    model.play(*drawing("a red square"))
    response = await sdk.responses.create(model=NAME, input="Draw.", tools=[TOOL])

    image = image_in(response)
    assert (image.status, image.output_format, image.size) == ("completed", "png", "64x64")
    assert base64.b64decode(image.result).startswith(PNG)
    assert response.output_text == "Here it is."
    assert [(path, sent["model"], sent["prompt"]) for path, sent in images.requests] == [
        ("/images/generations", "painter", "a red square")
    ]


async def test_every_event_is_of_the_sdks_types_and_the_stream_is_sound(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(*drawing("a green circle"))
    tool: Any = TOOL | {"partial_images": 2}
    stream = await sdk.responses.create(model=NAME, input="Draw.", tools=[tool], stream=True)
    events = [event.to_dict(mode="json") async for event in stream]

    assert_event_stream(events)
    assert [ADAPTER.validate_python(event).type for event in events] == [
        event["type"] for event in events
    ]
    assert fold(events) == events[-1]["response"]
    partial = [
        event for event in events if event["type"] == "response.image_generation_call.partial_image"
    ]
    assert [event["partial_image_index"] for event in partial] == list(range(len(partial)))
    assert all(
        base64.b64decode(str(event["partial_image_b64"])).startswith(PNG) for event in partial
    )


async def test_the_next_turn_edits_the_image_and_a_get_has_it(
    sdk: AsyncOpenAI, model: Model, images: ImagesBackend
) -> None:
    model.play(*drawing("a red square"))
    first = await sdk.responses.create(model=NAME, input="Draw.", tools=[TOOL])
    images.requests.clear()
    model.play(*drawing("make it blue", "edit"))
    then = await sdk.responses.create(
        model=NAME, input="Blue.", tools=[TOOL], previous_response_id=first.id
    )

    assert [path for path, _ in images.requests] == ["/images/edits"]
    assert image_in(then).action == "edit"
    assert image_in(await sdk.responses.retrieve(then.id)).result == image_in(then).result


async def test_the_images_api_is_passed_on(sdk: AsyncOpenAI) -> None:
    created = await sdk.images.generate(model="painter", prompt="a yellow line", size="1024x1024")

    assert created.data is not None
    assert base64.b64decode(created.data[0].b64_json or "").startswith(PNG)


async def test_an_agent_creates_images_in_two_turns(
    sdk: AsyncOpenAI, model: Model, images: ImagesBackend
) -> None:
    painter = Agent(
        name="painter",
        model=OpenAIResponsesModel(model=NAME, openai_client=sdk),
        tools=[ImageGenerationTool(tool_config=TOOL)],
    )
    model.play(*drawing("a red square"))
    first = Runner.run_streamed(painter, "Draw.", run_config=QUIET)
    names = [
        event.name async for event in first.stream_events() if event.type == "run_item_stream_event"
    ]
    images.requests.clear()
    model.play(*drawing("make it blue", "edit"))
    history: Any = [*first.to_input_list(), {"role": "user", "content": "Blue."}]
    second = await Runner.run(painter, history, run_config=QUIET)

    assert names == ["tool_called", "message_output_created"]
    assert second.final_output == "Here it is."
    assert [path for path, _ in images.requests] == ["/images/edits"]
