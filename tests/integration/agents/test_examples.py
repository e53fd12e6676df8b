"""The examples of agents: killed at each write, and read by the official client in the
background, with a connection that breaks.
"""

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from antiphon.agents import Agent
from antiphon.build import demo_backend
from antiphon.testing.agents import AgentHarness
from tests.support.server import serve
from tests.support.waiting import eventually

FOLDER = Path(__file__).parents[3] / "examples/agent"

EXAMPLES = {
    "shout": ("Hello there", ["HELLO THERE "]),
    "research": ("the tide", ["the tide"]),
    "support": ('call lookup {"order": "17"}', ["17 was delivered.", "17 was delivered."]),
    "orders": ('call lookup {"order": "17"}', ["17 was delivered.", "17 was delivered."]),
}
"""An example -> what is sent to it, and what each item of its output contains."""


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """One of the agents."""
    monkeypatch.syspath_prepend(FOLDER)
    found = getattr(import_module(request.param), request.param)
    sys.modules.pop(request.param)  # its name is common
    assert isinstance(found, Agent)
    return found


async def test_it_survives_a_crash_at_any_moment(example: Agent) -> None:
    text, _ = EXAMPLES[example.name]
    found = await asyncio.to_thread(AgentHarness(example).kill_everywhere, text)

    assert found.differing == []


async def test_the_official_client_reads_it_from_where_it_stopped(example: Agent) -> None:
    text, parts = EXAMPLES[example.name]
    async with serve(demo_backend(), agents=[example]) as server:

        async def names() -> Any:
            return server.parts.jobs.agents.names

        await eventually(names, lambda found: example.name in found)
        sdk = server.sdk.responses
        stream = await sdk.create(model=example.name, input=text, background=True, stream=True)
        first = [await anext(aiter(stream)) for _ in range(3)]
        await stream.close()
        response_id = first[0].response.id
        follow = await sdk.retrieve(
            response_id, stream=True, starting_after=first[-1].sequence_number
        )
        rest = [event async for event in follow]
        response = await sdk.retrieve(response_id)

    numbers = [event.sequence_number for event in [*first, *rest]]
    assert numbers == list(range(len(numbers)))
    assert rest[-1].response.output == response.output
    contents = [getattr(one, "output", None) or one.content[0].text for one in response.output]
    assert len(contents) == len(parts)
    assert all(part in content for part, content in zip(parts, contents, strict=True))
