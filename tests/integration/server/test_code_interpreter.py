"""Code and commands in containers over HTTP and WebSocket: what is shown of them, and where not."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.tools.registry import Toolset
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.notebooks import CODE, OUTPUTS, SHELL, Notebooks, cell, created, printed
from tests.support.parts import called, stated
from tests.support.server import RunningServer, serve
from tests.support.socket import talk

RUN = called("python", '{"code": "2 + 2"}')
LS = called("shell", '{"commands": ["ls"]}')
LINK = stated("[a](sandbox:", "/mnt/data/a.csv)")
LOGS = [{"type": "logs", "logs": "4"}]
CITED = {
    "type": "container_file_citation",
    "container_id": "cntr_1",
    "file_id": "cfile_a",
    "filename": "a.csv",
    "start_index": 4,
    "end_index": 27,
}


def notebooks() -> Notebooks:
    """Containers in which all code prints 4 and makes a file."""
    one = Notebooks()
    one.answer = lambda use: (
        printed("a.csv\n") if use.name == "shell" else cell("4", files=(created("a.csv"),))
    )
    return one


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with serve(ScriptedBackend([RUN, LINK] * 4, models=["m"])) as one:
        one.parts.run.toolset = Toolset(code=notebooks())
        yield one


async def create(sdk: AsyncOpenAI, **body: Any) -> dict[str, Any]:
    response = await sdk.responses.create(
        **{"model": "m", "input": "2 + 2?", "tools": [CODE], **body}
    )
    async with asyncio.timeout(30):
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    return response.to_dict()


def outputs(items: Any) -> list[Any]:
    return [item["outputs"] for item in items if item["type"] == "code_interpreter_call"]


def levelled(response: Any) -> list[dict[str, Any]]:
    """The items without what is new in every response."""
    return [{**item, "id": ""} for item in response["output"]]


@pytest.mark.parametrize("included", [True, False])
async def test_outputs_can_be_requested_later_and_only_then_are_returned(
    server: RunningServer, included: bool
) -> None:
    sdk = server.sdk
    first = await create(sdk, include=OUTPUTS if included else [])
    again = await sdk.responses.retrieve(first["id"])
    later = await sdk.responses.retrieve(first["id"], include=OUTPUTS)  # type: ignore[arg-type]

    assert outputs(first["output"]) == [LOGS if included else None]
    assert outputs(again.to_dict()["output"]) == [None]
    assert outputs(later.to_dict()["output"]) == [LOGS]
    assert first["output"][1]["content"][0]["annotations"] == [CITED]


@pytest.mark.wide
async def test_lists_of_items_include_outputs_on_request(server: RunningServer) -> None:
    sdk = server.sdk
    conversation = (await sdk.conversations.create()).id
    first = await create(sdk, conversation=conversation)
    second = await create(sdk, conversation=conversation)

    assert second["output"][0]["container_id"] == first["output"][0]["container_id"] == "cntr_1"
    include: Any
    for include, expected in (([], None), (OUTPUTS, LOGS)):
        items = (await sdk.conversations.items.list(conversation, include=include)).data
        assert outputs(item.to_dict() for item in items) == [expected, expected]
        inputs = (await sdk.responses.input_items.list(second["id"], include=include)).data
        assert outputs(item.to_dict() for item in inputs) == [expected]
        item_id = first["output"][0]["id"]
        item = await sdk.conversations.items.retrieve(
            item_id, conversation_id=conversation, include=include
        )
        assert outputs([item.to_dict()]) == [expected]


async def test_large_figures_are_displayed_and_hidden_like_small_ones(
    server: RunningServer,
) -> None:
    figure = {"type": "image", "url": "data:image/png;base64," + "A" * 3_000_000}
    assert isinstance(server.parts.run.toolset.code, Notebooks)
    server.parts.run.toolset.code.answer = lambda use: _with(cell("4"), figure)
    first = await create(server.sdk)

    (without,) = outputs((await server.sdk.responses.retrieve(first["id"])).to_dict()["output"])
    later = await server.sdk.responses.retrieve(first["id"], include=OUTPUTS)  # type: ignore[arg-type]

    assert without is None
    assert outputs(later.to_dict()["output"]) == [[*LOGS, figure]]


def _with(result: Any, output: dict[str, str]) -> Any:
    result.fields["outputs"].append(output)
    return result


@pytest.mark.parametrize(
    "body", [{}, {"stream": True}, {"background": True}, {"background": True, "stream": True}]
)
@pytest.mark.parametrize("tool", ["code", "shell"])
async def test_an_unknown_container_is_a_404_in_every_form_of_request(
    server: RunningServer, body: dict[str, Any], tool: str
) -> None:
    reference = {"type": "container_reference", "container_id": "cntr_none"}
    value: Any = (
        {**CODE, "container": "cntr_none"}
        if tool == "code"
        else {**SHELL, "environment": reference}
    )
    with pytest.raises(NotFoundError) as refused:
        await server.sdk.responses.create(model="m", input="Hi", tools=[value], **body)
    assert refused.value.body == {
        "message": "Container not found.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


async def test_a_tool_without_a_container_is_refused_by_name(server: RunningServer) -> None:
    with pytest.raises(BadRequestError) as refused:
        await server.sdk.responses.create(
            model="m", input="Hi", tools=[{"type": "code_interpreter"}]
        )  # type: ignore[list-item]
    body: Any = refused.value.body
    assert body["message"] == "Missing required parameter: 'tools[0].container'."
    assert (body["param"], body["code"]) == ("tools[0].container", "missing_required_parameter")


async def test_no_tool_calls_at_all_is_refused(server: RunningServer) -> None:
    with pytest.raises(BadRequestError) as refused:
        await create(server.sdk, max_tool_calls=0)
    assert refused.value.code == "integer_below_min_value"


IN_MINE: Any = {"type": "container_reference", "container_id": "cntr_1"}


@pytest.mark.parametrize(
    ("tool", "call"),
    [({**CODE, "container": "cntr_1"}, RUN), ({**SHELL, "environment": IN_MINE}, LS)],
)
async def test_plain_streamed_in_the_background_and_on_a_socket_are_one_response(
    tool: Any, call: Any
) -> None:
    async with serve(ScriptedBackend([call, LINK] * 4, models=["m"])) as one:
        found = []
        for form in ("plain", "stream", "background", "socket"):
            containers = notebooks()
            containers.known.add("cntr_1")
            one.parts.run.toolset = Toolset(code=containers)
            found.append(await _created_by(one, form, tool))

    assert [levelled(each) for each in found] == [levelled(found[0])] * 4
    assert [each["tools"] for each in found] == [found[0]["tools"]] * 4


async def _created_by(one: RunningServer, form: str, tool: Any) -> Any:
    body: Any = {"tools": [tool], "include": OUTPUTS}
    if form == "stream":
        stream = await one.sdk.responses.create(model="m", input="2 + 2?", stream=True, **body)
        events = [event.to_dict() async for event in stream]
        return events[-1]["response"]
    if form == "background":
        created_later = await create(one.sdk, background=True, **body)
        return (await one.sdk.responses.retrieve(created_later["id"], include=OUTPUTS)).to_dict()  # type: ignore[arg-type]
    if form == "socket":
        async with talk(one) as socket:
            return await socket.created("2 + 2?", **body)
    return await create(one.sdk, **body)


async def test_a_conversation_on_a_socket_goes_on_in_its_container_and_cites_its_files() -> None:
    async with serve(ScriptedBackend([RUN, stated("Made."), RUN, LINK], models=["m"])) as one:
        one.parts.run.toolset = Toolset(code=notebooks())
        async with talk(one) as socket:
            first = await socket.created("2 + 2?", tools=[CODE], store=False)
            second = await socket.created(
                "Sure?", tools=[CODE], store=False, previous_response_id=first["id"]
            )

    assert second["output"][0]["container_id"] == "cntr_1"
    assert second["output"][1]["content"][0]["annotations"] == [CITED]


async def test_the_client_s_next_turn_needs_no_output_for_a_hosted_shell() -> None:
    async with serve(
        ScriptedBackend([LS, stated("One."), stated("Still one.")], models=["m"])
    ) as one:
        one.parts.run.toolset = Toolset(code=notebooks())
        first = await create(one.sdk, tools=[SHELL])
        second = await create(one.sdk, tools=[SHELL], previous_response_id=first["id"])

    assert [item["type"] for item in first["output"]] == [
        "shell_call",
        "shell_call_output",
        "message",
    ]
    assert second["status"] == "completed"
