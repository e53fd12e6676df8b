"""Code in containers as the official SDKs use it, unmodified: the OpenAI SDK and the Agents SDK."""

from typing import Any

import pytest
from agents import Agent, CodeInterpreterTool, OpenAIResponsesModel, RunConfig, Runner, ShellTool
from openai import AsyncOpenAI, NotFoundError
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from antiphon.testing import assert_event_stream, fold
from tests.support.code_environment import SANDBOX, needs_pandas, needs_sandbox
from tests.system.clients.model import Call, Model, Turn

pytestmark = [pytest.mark.asyncio(loop_scope="module"), needs_sandbox]

NAME = "fake-model"
QUIET = RunConfig(tracing_disabled=True)
ADAPTER: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
AUTO: Any = {"type": "code_interpreter", "container": {"type": "auto"}}
OUTPUTS: Any = ["code_interpreter_call.outputs"]
PNG = b"\x89PNG\r\n\x1a\n"

TABLE = b"meal,price\nbreakfast,8\ntea,4\ndinner,18\n"
ANALYSIS = """
import glob
import matplotlib.pyplot as plt
import pandas as pd

table = pd.read_csv(glob.glob("/mnt/data/*meals.csv")[0])
table.plot.bar(x="meal", y="price")
plt.savefig("/mnt/data/prices.png")
plt.close()
print(table.price.mean())
"""
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"


@pytest.fixture(scope="module")
def settings() -> str:
    return SANDBOX


def running(*codes: str) -> tuple[Turn, ...]:
    """Turns of a model that runs code, each part in a call of its own."""
    return tuple(Turn(calls=(Call("python", {"code": code}),)) for code in codes)


def outputs_of(item: Any) -> list[str]:
    return [one.logs for one in item.outputs if one.type == "logs"]


# The official SDK.


@needs_pandas
async def test_a_csv_is_analysed_and_the_figure_is_cited_and_downloaded(
    sdk: AsyncOpenAI, model: Model
) -> None:
    table = await sdk.files.create(file=("meals.csv", TABLE), purpose="user_data")
    container = await sdk.containers.create(name="meals", file_ids=[table.id])
    model.play(
        *running(ANALYSIS), Turn("On average 10. [The figure](sandbox:/mnt/data/prices.png)")
    )
    tool: Any = {"type": "code_interpreter", "container": container.id}
    response = await sdk.responses.create(
        model=NAME, input="How much is a meal?", tools=[tool], include=OUTPUTS
    )

    call, message = response.output
    assert call.type == "code_interpreter_call"
    assert (call.status, call.container_id, outputs_of(call)) == (
        "completed",
        container.id,
        ["10.0\n"],
    )
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    (citation,) = part.annotations
    assert citation.type == "container_file_citation"
    assert (citation.container_id, citation.filename) == (container.id, "prices.png")
    assert part.text[citation.start_index : citation.end_index] == "sandbox:/mnt/data/prices.png"
    content = await sdk.containers.files.content.retrieve(
        citation.file_id, container_id=container.id
    )
    assert content.content.startswith(PNG)


@needs_pandas
async def test_a_rendered_figure_is_an_output_and_the_first_citation(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(*running(FIGURE), Turn("Here it is."))
    response = await sdk.responses.create(model=NAME, input="Draw.", tools=[AUTO], include=OUTPUTS)

    call, message = response.output
    assert call.type == "code_interpreter_call"
    images = [one.url for one in call.outputs or [] if one.type == "image"]
    assert [one.partition(",")[0] for one in images] == ["data:image/png;base64"]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    (citation,) = part.annotations
    assert citation.type == "container_file_citation"
    assert (citation.start_index, citation.end_index, citation.filename) == (
        0,
        0,
        f"{citation.file_id}.png",
    )


async def test_every_event_is_of_the_sdks_types_and_the_stream_is_sound(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(
        *running("x = 6", 'open("/mnt/data/x.txt", "w").write(str(x * 7))'),
        Turn("[It](sandbox:/mnt/data/x.txt)"),
    )
    stream = await sdk.responses.create(
        model=NAME, input="6 * 7?", tools=[AUTO], include=OUTPUTS, stream=True
    )
    events = [event.to_dict(mode="json") async for event in stream]

    assert_event_stream(events)
    assert [ADAPTER.validate_python(event).type for event in events] == [
        event["type"] for event in events
    ]
    assert fold(events) == events[-1]["response"]
    types = [str(event["type"]) for event in events]
    assert types.count("response.code_interpreter_call.completed") == 2
    assert types.count("response.output_text.annotation.added") == 1


async def test_the_stream_helper_collects_code_and_outputs(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(*running("print('P1')\n6"), Turn("Done."))
    async with sdk.responses.stream(
        model=NAME, input="Go.", tools=[AUTO], include=OUTPUTS
    ) as stream:
        deltas = [
            event.delta
            async for event in stream
            if event.type == "response.code_interpreter_call_code.delta"
        ]
        call, _ = (await stream.get_final_response()).output

    assert call.type == "code_interpreter_call"
    assert "".join(deltas) == call.code == "print('P1')\n6"
    assert outputs_of(call) == ["P1\n", "6"]


async def test_the_next_turn_has_the_same_container_and_its_variables(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(*running("x = 41"), Turn("Set."))
    first = await sdk.responses.create(model=NAME, input="Set x.", tools=[AUTO])
    model.play(*running("print(x + 1)"), Turn("42."))
    then = await sdk.responses.create(
        model=NAME, input="Now?", tools=[AUTO], include=OUTPUTS, previous_response_id=first.id
    )

    before = first.output[0]
    after = then.output[0]
    assert before.type == after.type == "code_interpreter_call"
    assert before.container_id == after.container_id
    assert (before.outputs, outputs_of(after)) == (None, ["42\n"])


async def test_containers_and_their_files_live_and_end(sdk: AsyncOpenAI) -> None:
    container = await sdk.containers.create(
        name="shelf", expires_after={"anchor": "last_active_at", "minutes": 5}
    )
    uploaded = await sdk.containers.files.create(container.id, file=("notes.txt", b"one"))
    stored = await sdk.files.create(file=("more.txt", b"two"), purpose="user_data")
    attached = await sdk.containers.files.create(container.id, file_id=stored.id)

    assert (container.status, container.object, container.memory_limit) == (
        "running",
        "container",
        "1g",
    )
    assert (await sdk.containers.retrieve(container.id)).name == "shelf"
    assert container.id in [one.id async for one in sdk.containers.list()]
    files = [one async for one in sdk.containers.files.list(container.id, order="asc")]
    assert [(one.id, one.bytes, one.source) for one in files] == [
        (uploaded.id, 3, "user"),
        (attached.id, 3, "user"),
    ]
    assert all(one.path.startswith("/mnt/data/") for one in files)
    content = await sdk.containers.files.content.retrieve(attached.id, container_id=container.id)
    assert content.content == b"two"
    await sdk.containers.files.delete(uploaded.id, container_id=container.id)
    assert [one.id async for one in sdk.containers.files.list(container.id)] == [attached.id]
    await sdk.containers.delete(container.id)
    with pytest.raises(NotFoundError):
        await sdk.containers.retrieve(container.id)


# The Agents SDK.


def agent(sdk: AsyncOpenAI, tool: Any) -> Agent:
    return Agent(
        name="clerk", model=OpenAIResponsesModel(model=NAME, openai_client=sdk), tools=[tool]
    )


async def test_an_agent_runs_code_in_two_turns(sdk: AsyncOpenAI, model: Model) -> None:
    clerk = agent(sdk, CodeInterpreterTool(tool_config=AUTO))
    model.play(*running("x = 41"), Turn("Set."))
    first = Runner.run_streamed(clerk, "Set x.", run_config=QUIET)
    names = [
        event.name async for event in first.stream_events() if event.type == "run_item_stream_event"
    ]
    model.play(*running("print(x + 1)"), Turn("It is 42."))
    second = await Runner.run(
        clerk, [*first.to_input_list(), {"role": "user", "content": "And now?"}], run_config=QUIET
    )

    assert names == ["tool_called", "message_output_created"]
    assert second.final_output == "It is 42."
    assert "42" in model.sent_to()


async def test_an_agent_runs_commands_in_a_container(sdk: AsyncOpenAI, model: Model) -> None:
    clerk = agent(sdk, ShellTool(environment={"type": "container_auto"}))
    model.play(
        Turn(calls=(Call("shell", {"commands": ["echo tide > tide.txt", "cat tide.txt"]}),)),
        Turn("Written."),
    )
    run = await Runner.run(clerk, "Write it down.", run_config=QUIET)

    kinds = [item.get("type") for item in run.to_input_list()[1:]]
    assert run.final_output == "Written."
    assert kinds == ["shell_call", "shell_call_output", "message"]
    assert "tide" in model.sent_to()
    assert "exit code 0" in model.sent_to()
