"""A dump by the official SDK of anything that goes out is accepted as input (lesson L36)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from antiphon.upstream.http import HttpBackend
from tests.support.replay import STREAM, Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve

CALLS = {
    "look": "{}",
    "n__near": '{"a": 1}',
    "n__note": '{"input": "x"}',
    "patch": '{"input": "*** Begin Patch"}',
    "shell": '{"commands": ["ls", "pwd"]}',
    "local_shell": '{"command": ["ls"]}',
    "apply_patch": '{"type": "update_file", "path": "a", "diff": "+x"}',
    "computer": '{"actions": [{"type": "screenshot"}]}',
    "tool_search": '{"query": "q"}',
}
TOOLS = [
    {
        "type": "function",
        "name": "look",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    },
    {
        "type": "namespace",
        "name": "n",
        "description": "d",
        "tools": [{"type": "function", "name": "near"}, {"type": "custom", "name": "note"}],
    },
    {"type": "custom", "name": "patch"},
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "local_shell"},
    {"type": "apply_patch"},
    {"type": "computer"},
    {"type": "tool_search", "execution": "client"},
]
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}
OUTPUTS: dict[str, dict[str, Any]] = {
    "function_call": {"type": "function_call_output", "output": "ok"},
    "custom_tool_call": {
        "type": "custom_tool_call_output",
        "output": [{"type": "input_text", "text": "ok"}],
    },
    "shell_call": {
        "type": "shell_call_output",
        "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    "local_shell_call": {"type": "local_shell_call_output", "output": "ok"},
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "completed", "output": "ok"},
    "computer_call": {"type": "computer_call_output", "output": SCREEN},
    "tool_search_call": {
        "type": "tool_search_output",
        "execution": "client",
        "status": "completed",
        "tools": TOOLS[:1],
    },
}


def act(request: dict[str, Any]) -> Answer:
    """Think, speak, and call every tool; once that is answered, speak."""
    if request["messages"][-1]["role"] != "user" or "x" in str(request["messages"][-1]["content"]):
        return Answer([sse(delta(content="Done."), delta("stop"))], STREAM)
    calls = [
        delta(
            tool_calls=[
                {"index": i, "id": f"call_{i}", "function": {"name": name, "arguments": stated}}
            ]
        )
        for i, (name, stated) in enumerate(CALLS.items())
    ]
    return Answer(
        [
            sse(
                delta(reasoning_content="Hm."),
                delta(content="Let us see."),
                *calls,
                delta("tool_calls"),
            )
        ],
        STREAM,
    )


@pytest_asyncio.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with (
        ReplayBackend(act).serve() as backend,
        serve(HttpBackend("b", backend.url)) as server,
    ):
        yield server


@pytest.mark.parametrize("way", ["model_dump", "without nulls", "json", "streamed"])
@pytest.mark.parametrize("store", [True, False], ids=["stored", "unstored"])
async def test_a_dump_of_every_kind_of_item_is_taken_as_input(
    server: RunningServer, way: str, store: bool
) -> None:
    requested: dict[str, Any] = {"model": "m", "tools": TOOLS, "store": store}
    if way == "streamed":
        async with server.sdk.responses.stream(input="Hi", **requested) as stream:
            response: Any = await stream.get_final_response()
    else:
        response = await server.sdk.responses.create(input="Hi", **requested)
    if way == "json":
        dumped = json.loads(response.model_dump_json())["output"]
    else:
        dumped = [item.model_dump(exclude_none=way == "without nulls") for item in response.output]
    answers = [
        OUTPUTS[item["type"]] | {"call_id": item["call_id"]}
        for item in dumped
        if item["type"] in OUTPUTS
    ]
    follow = await server.sdk.responses.create(
        input=[
            {"role": "user", "content": "Hi"},
            *dumped,
            *answers,
            {"role": "user", "content": "x"},
        ],
        **requested,
    )

    assert len(answers) == len(CALLS)
    assert {item["type"] for item in dumped} == {"reasoning", "message", *OUTPUTS}
    assert follow.output_text == "Done."


async def test_a_conversation_keeps_and_gives_back_every_kind_of_item(
    server: RunningServer,
) -> None:
    stored = await server.sdk.conversations.create()
    first = await server.sdk.responses.create(
        model="m", tools=TOOLS, input="Hi", conversation=stored.id
    )  # type: ignore[arg-type]
    answers = [
        OUTPUTS[item.type] | {"call_id": item.call_id}
        for item in first.output
        if item.type in OUTPUTS
    ]  # type: ignore[union-attr]
    await server.sdk.responses.create(model="m", tools=TOOLS, input=answers, conversation=stored.id)  # type: ignore[arg-type]
    _, listed = await server.get(f"/conversations/{stored.id}/items?limit=100&order=asc")
    displayed = {item["type"]: item for item in listed["data"]}  # type: ignore[attr-defined]

    assert displayed.keys() == {
        "message",
        "reasoning",
        *OUTPUTS,
        *(each["type"] for each in OUTPUTS.values()),
    }
    assert displayed["computer_call_output"]["output"]["image_url"] is None
    _, whole = await server.get(
        f"/conversations/{stored.id}/items?limit=100&include[]=computer_call_output.output.image_url"
    )
    images = [
        item["output"]["image_url"]
        for item in whole["data"]
        if item["type"] == "computer_call_output"
    ]  # type: ignore[attr-defined]
    assert images == [SCREEN["image_url"]]
