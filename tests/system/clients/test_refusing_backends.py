"""Clients, unmodified, do a task with models whose backends refuse much of what they send: ten
dialects, at once.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from agents import Agent, FunctionTool, ModelSettings, OpenAIResponsesModel, Runner
from openai import AsyncOpenAI

from tests.support import pip
from tests.support.command import environment
from tests.support.recordings import FOLDER, MISSING
from tests.system.clients.codex import Codex
from tests.system.clients.model import Call
from tests.system.clients.refusing import DIALECTS, Worker, ten_backends
from tests.system.clients.test_agents_sdk import QUIET

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.rotating,
]

HERE = Path(__file__).parent / "frameworks"
PATIENCE = 120.0
"""Seconds for the tasks of a framework."""

RECORDED = FOLDER.parent / "clients" / "requests"
FIRST_REQUESTS = ("codex-shell-workspace-write", "codex-model-gpt-5.5")
"""With tools in a namespace, and with a custom tool and a search for tools."""

TIDE = Call("tide", {"kind": "next", "place": "Dover"})
CHOICE = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "next"}, "place": {"type": "string"}},
            "required": ["kind"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "at"}, "hour": {"type": "string"}},
            "required": ["kind"],
        },
    ]
}
"""A schema without an object at its root."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[str, dict[str, Worker]]]:
    async with ten_backends(tmp_path_factory.mktemp("refusing")) as one:
        yield one


@pytest.fixture
def url(server: tuple[str, dict[str, Worker]]) -> str:
    return server[0]


@pytest.fixture
def worker(server: tuple[str, dict[str, Worker]], request: pytest.FixtureRequest) -> Worker:
    """The backend of the dialect that the test has as its parameter."""
    return server[1][request.getfixturevalue("dialect")]


EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS)


async def invoke(_: Any, arguments: str) -> str:
    try:
        return f"High water in {json.loads(arguments)['place']} is at 14:05."
    except ValueError as error:
        return f"The arguments are no JSON: {error}."


def tools() -> list[Any]:
    """A tool whose schema is a choice, and one without any parameter."""
    tide = FunctionTool("tide", "Tell the tide.", CHOICE, invoke, strict_json_schema=False)
    ping = FunctionTool("ping", "Ping.", {"type": "object"}, invoke, strict_json_schema=False)
    return [tide, ping]


RULES = {"role": "system", "content": "Use the tools."}
SPOKEN = [
    RULES,
    {"role": "user", "content": "Good day."},
    RULES,
    {"role": "user", "content": "When is high water?"},
]


@EVERY_DIALECT
@pytest.mark.parametrize("chained", [False, True], ids=["replay", "chain"])
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_the_agents_sdk_finishes_its_task(
    sdk: AsyncOpenAI, worker: Worker, dialect: str, chained: bool, streamed: bool
) -> None:
    worker.begin(TIDE, "14:05")
    agent = Agent(
        name="pilot",
        instructions="Be brief.",
        model=OpenAIResponsesModel(model=dialect, openai_client=sdk),
        model_settings=ModelSettings(tool_choice="required"),
        tools=tools(),
    )
    how: Any = {"run_config": QUIET, "auto_previous_response_id": chained}
    if streamed:
        run = Runner.run_streamed(agent, SPOKEN, **how)  # type: ignore[arg-type]
        async for _ in run.stream_events():
            pass
        stated = run.final_output
    else:
        stated = (await Runner.run(agent, SPOKEN, **how)).final_output  # type: ignore[arg-type]
    assert stated == "I read 14:05."
    worker.check()


def first_request(name: str) -> dict[str, Any]:
    """What Codex sent to begin a session: a recording, up to what the user said."""
    body: dict[str, Any] = json.loads((RECORDED / f"{name}.full.json").read_text("utf-8"))["full"][
        "body"
    ]
    messages = [
        item for item in body["input"] if item["type"] == "message" and item["role"] != "assistant"
    ]
    return {**body, "input": messages}


async def turn(http: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> list[Any]:
    """The items of one streamed answer, as Codex reads them: one by one, when each is done."""
    async with http.post(f"{url}/responses", json=body) as reply:
        text = await reply.text()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert events, text
    assert events[-1]["type"] == "response.completed", events[-1]
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


@pytest.mark.skipif(not RECORDED.is_dir(), reason=MISSING)
@EVERY_DIALECT
@pytest.mark.parametrize("name", FIRST_REQUESTS)
async def test_what_codex_sends_first_is_the_beginning_of_a_session(
    url: str, worker: Worker, dialect: str, name: str
) -> None:
    worker.begin(Call("exec_command", {"cmd": "echo $((40+2))"}), "exit 0: 42")
    body = {**first_request(name), "model": dialect}
    async with aiohttp.ClientSession() as http:
        for _ in range(4):
            items = await turn(http, url, body)
            calls = [item for item in items if item["type"] == "function_call"]
            outputs = []
            for call in calls:
                assert call["name"] == "exec_command"
                try:
                    json.loads(call["arguments"])
                    output = "exit 0: 42"
                except ValueError:
                    output = "failed to parse function arguments"
                outputs.append(
                    {"type": "function_call_output", "call_id": call["call_id"], "output": output}
                )
            body["input"] = [*body["input"], *items, *outputs]
            if not calls:
                break
    assert [part["text"] for part in items[-1]["content"]] == ["I read exit 0: 42."]
    worker.check()


FRAMEWORKS = ("pydantic_ai", "langchain")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stated(
    server: tuple[str, dict[str, Worker]], request: pytest.FixtureRequest
) -> dict[str, list[str]]:
    """What a framework said at the end of its tasks, by dialect: one process does them all."""
    url, workers = server
    for worker in workers.values():
        worker.begin(TIDE, "14:05")
    python = pip.install(HERE / "requirements.txt", "frameworks") / "python"
    command = (
        str(python),
        "-W",
        "ignore",
        str(HERE / f"use_{request.param}.py"),
        url,
        json.dumps(CHOICE),
    )
    process = await asyncio.create_subprocess_exec(
        *command, *DIALECTS, env=environment(HERE), stdout=-1, stderr=-1
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()[-2000:]
    return {reported["model"]: reported["said"] for reported in map(json.loads, out.splitlines())}


@EVERY_DIALECT
@pytest.mark.parametrize("stated", FRAMEWORKS, indirect=True)
async def test_a_framework_finishes_its_task(
    stated: dict[str, list[str]], worker: Worker, dialect: str
) -> None:
    assert stated[dialect] == ["I read 14:05."] * 2
    worker.check()


@pytest.mark.parametrize("dialect", ["generic", "gemini", "moonshot"])
async def test_codex_finishes_its_task(
    url: str, worker: Worker, dialect: str, tmp_path: Path
) -> None:
    worker.begin(Call("exec_command", {"cmd": "echo sum-$((40+2))"}), "sum-42")
    run = await Codex.within(tmp_path, url).run(model=dialect)
    assert run.stated[-1] == "I read sum-42."
    assert "sum-42" in run.printed
    worker.check()
