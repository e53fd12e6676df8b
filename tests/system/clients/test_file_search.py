"""Searches of files as the official SDKs use them, unmodified: the OpenAI SDK, the Agents SDK and
Vercel's AI SDK.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FileSearchTool, OpenAIResponsesModel, RunConfig, Runner
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from antiphon.testing import assert_event_stream, fold
from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, stated
from tests.support.server import RunningServer, serve
from tests.support.shelves import STORE, Shelves, hit
from tests.system.clients.ai_sdk import MAJORS, AiSdk, install

QUIET = RunConfig(tracing_disabled=True)
ADAPTER: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
SEARCH = called("file_search", '{"queries": ["high water"]}')
RESULTS: Any = ["file_search_call.results"]


@pytest.fixture
async def shelves() -> Shelves:
    return Shelves(hit("High water: 9:00."))


@pytest.fixture
async def server(shelves: Shelves) -> AsyncIterator[RunningServer]:
    answers = [SEARCH, stated("High water is at nine", " [1]."), stated("At nine【1】, as I said.")]
    async with serve(ScriptedBackend(answers, models=["m"])) as one:
        one.parts.run.toolset = Toolset(file_search=FileSearch(shelves))
        yield one


def agent(server: RunningServer, **options: Any) -> Agent:
    model = OpenAIResponsesModel(model="m", openai_client=server.sdk)
    return Agent(
        name="pilot", model=model, tools=[FileSearchTool(vector_store_ids=[STORE], **options)]
    )


async def test_every_event_is_of_the_sdks_types_and_the_stream_is_sound(
    server: RunningServer,
) -> None:
    tool: Any = {"type": "file_search", "vector_store_ids": [STORE]}
    stream = await server.sdk.responses.create(
        model="m", input="When?", tools=[tool], include=RESULTS, stream=True
    )
    events = [event.to_dict(mode="json") async for event in stream]

    assert_event_stream(events)
    assert [ADAPTER.validate_python(event).type for event in events] == [
        event["type"] for event in events
    ]
    assert fold(events) == events[-1]["response"]


async def test_the_stream_helper_has_the_results_and_the_citation(server: RunningServer) -> None:
    tool: Any = {"type": "file_search", "vector_store_ids": [STORE]}
    async with server.sdk.responses.stream(
        model="m", input="When?", tools=[tool], include=RESULTS
    ) as stream:
        types = [event.type async for event in stream]
        search, message = (await stream.get_final_response()).output

    assert search.type == "file_search_call"
    assert search.results is not None
    assert [(one.filename, one.score, one.text) for one in search.results] == [
        ("tides.pdf", 0.9, "High water: 9:00.")
    ]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    citation = part.annotations[0]
    assert citation.type == "file_citation"
    assert (part.text, citation.filename, citation.index) == (
        "High water is at nine.",
        "tides.pdf",
        21,
    )
    assert "response.output_text.annotation.added" in types


async def test_an_agent_searches_files(server: RunningServer, shelves: Shelves) -> None:
    pilot = agent(server, max_num_results=3, include_search_results=True)
    run = await Runner.run(pilot, "When is high water?", run_config=QUIET)

    search, message = (item.raw_item for item in run.new_items)
    assert run.final_output == "High water is at nine."
    assert (search.type, search.queries, search.results[0].text) == (  # type: ignore[union-attr]
        "file_search_call",
        ["high water"],
        "High water: 9:00.",
    )
    assert message.content[0].annotations[0].filename == "tides.pdf"  # type: ignore[union-attr]
    assert (shelves.requested[0].store_ids, shelves.requested[0].most) == ((STORE,), 3)


async def test_an_agent_streams_its_search_and_cites_it_again_in_the_next_turn(
    server: RunningServer,
) -> None:
    pilot = agent(server)
    first = Runner.run_streamed(pilot, "When?", run_config=QUIET)
    names = [
        event.name async for event in first.stream_events() if event.type == "run_item_stream_event"
    ]
    second = await Runner.run(
        pilot, [*first.to_input_list(), {"role": "user", "content": "Sure?"}], run_config=QUIET
    )

    assert names == ["tool_called", "message_output_created"]
    assert second.final_output == "At nine, as I said."
    (message,) = (item.raw_item for item in second.new_items)
    assert message.content[0].annotations[0].filename == "tides.pdf"  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def node() -> Path:
    return install()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_ai_sdk_shows_the_search_and_its_source(
    server: RunningServer, node: Path, major: int, stream: bool
) -> None:
    options = {"model": "m", "store": STORE, "openai": {"include": RESULTS}}
    (turn,) = await AiSdk(node, major, stream, server.url).run(
        "files", "When is high water?", **options
    )

    kinds = [part["type"] for part in turn["content"]]
    assert turn["text"] == "High water is at nine."
    assert ("tool-call" in kinds, "tool-result" in kinds, "source" in kinds) == (True, True, True)
