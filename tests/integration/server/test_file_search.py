"""Searches of files over HTTP and WebSocket: where what they found is shown, and where not."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, stated
from tests.support.server import RunningServer, serve
from tests.support.shelves import STORE, Shelves, hit
from tests.support.socket import talk

TOOL: Any = {"type": "file_search", "vector_store_ids": [STORE]}
RESULTS: Any = ["file_search_call.results"]
FOUND = [
    {
        "attributes": {},
        "file_id": "file-tides",
        "filename": "tides.pdf",
        "score": 0.9,
        "text": "High water is at nine.",
        "vector_store_id": STORE,
    }
]
SEARCH = called("file_search", '{"queries": ["high water"]}')
CITED = {"type": "file_citation", "file_id": "file-tides", "filename": "tides.pdf", "index": 7}


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    model = ScriptedBackend(
        [SEARCH, stated("At nine", " [1]."), SEARCH, stated("At nine [1].")], models=["m"]
    )
    async with serve(model) as one:
        one.parts.run.toolset = Toolset(
            file_search=FileSearch(Shelves(hit("High water is at nine.")))
        )
        yield one


async def create(sdk: AsyncOpenAI, **body: Any) -> dict[str, Any]:
    response = await sdk.responses.create(
        **{"model": "m", "input": "When?", "tools": [TOOL], **body}
    )
    async with asyncio.timeout(30):
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    return response.to_dict()


def results(items: Any) -> list[Any]:
    return [item["results"] for item in items if item["type"] == "file_search_call"]


@pytest.mark.parametrize("included", [True, False])
async def test_search_results_can_be_requested_later_and_only_then_are_returned(
    server: RunningServer, included: bool
) -> None:
    sdk = server.sdk
    created = await create(sdk, include=RESULTS if included else [])
    again = await sdk.responses.retrieve(created["id"])
    later = await sdk.responses.retrieve(created["id"], include=RESULTS)

    assert results(created["output"]) == [FOUND if included else None]
    assert results(again.to_dict()["output"]) == [None]
    assert results(later.to_dict()["output"]) == [FOUND]
    assert again.to_dict()["output"][1] == created["output"][1]
    assert created["output"][1]["content"][0]["annotations"] == [CITED]


async def test_lists_of_items_include_search_results_on_request(server: RunningServer) -> None:
    sdk = server.sdk
    conversation = (await sdk.conversations.create()).id
    created = await create(sdk, conversation=conversation)
    next_one = await create(sdk, conversation=conversation)

    for include, expected in (([], None), (RESULTS, FOUND)):
        items = (await sdk.conversations.items.list(conversation, include=include)).data
        assert results(item.to_dict() for item in items) == [expected, expected]
        inputs = (await sdk.responses.input_items.list(next_one["id"], include=include)).data
        assert results(item.to_dict() for item in inputs) == [expected]
        item_id = created["output"][0]["id"]
        item = await sdk.conversations.items.retrieve(
            item_id, conversation_id=conversation, include=include
        )
        assert results([item.to_dict()]) == [expected]


async def test_many_results_are_displayed_and_hidden_like_few(server: RunningServer) -> None:
    hits = [hit(f"{n} " + "x" * 9_000, f"{n}.md") for n in range(50)]
    server.parts.run.toolset = Toolset(file_search=FileSearch(Shelves(*hits)))
    created = await create(server.sdk, tools=[{**TOOL, "max_num_results": 50}], include=RESULTS)

    (without,) = results((await server.sdk.responses.retrieve(created["id"])).to_dict()["output"])
    (with_them,) = results(
        (await server.sdk.responses.retrieve(created["id"], include=RESULTS)).to_dict()["output"]
    )

    assert without is None
    assert [one["text"] for one in with_them] == [one.text for one in hits]


@pytest.mark.parametrize(
    "body", [{}, {"stream": True}, {"background": True}, {"background": True, "stream": True}]
)
async def test_an_unknown_store_is_a_404_in_every_form_of_request(
    server: RunningServer, body: dict[str, Any]
) -> None:
    with pytest.raises(NotFoundError) as refused:
        await server.sdk.responses.create(
            model="m", input="Hi", tools=[{**TOOL, "vector_store_ids": ["vs_none"]}], **body
        )
    assert refused.value.body == {
        "message": "No vector store found with id 'vs_none'.",
        "type": "invalid_request_error",
        "param": "vector_store_id",
        "code": None,
    }


@pytest.mark.parametrize(
    ("ids", "message", "code"),
    [
        (
            None,
            "Missing required parameter: 'tools[0].vector_store_ids'.",
            "missing_required_parameter",
        ),
        (
            "vs_1",
            "Invalid type for 'tools[0].vector_store_ids': expected an array of strings, "
            "but got a string instead.",
            "invalid_type",
        ),
    ],
)
async def test_stores_that_are_not_named_in_a_list_are_refused(
    server: RunningServer, ids: Any, message: str, code: str
) -> None:
    tool: Any = {"type": "file_search"} | ({"vector_store_ids": ids} if ids else {})
    with pytest.raises(BadRequestError) as refused:
        await server.sdk.responses.create(model="m", input="Hi", tools=[tool])
    assert (refused.value.body["message"], refused.value.code) == (message, code)  # type: ignore[index]


async def test_plain_streamed_in_the_background_and_on_a_socket_are_one_response(
    server: RunningServer,
) -> None:
    model = ScriptedBackend([SEARCH, stated("At nine", " [1].")] * 4, models=["m"])
    async with serve(model) as one:
        one.parts.run.toolset = server.parts.run.toolset
        plain = await create(one.sdk, include=RESULTS)
        stream = await one.sdk.responses.create(
            model="m", input="When?", tools=[TOOL], include=RESULTS, stream=True
        )
        events = [event.to_dict() async for event in stream]
        later = await create(one.sdk, include=RESULTS, background=True)
        later = (await one.sdk.responses.retrieve(later["id"], include=RESULTS)).to_dict()
        async with talk(one) as socket:
            spoken = await socket.created("When?", tools=[TOOL], include=RESULTS)

    outputs = [created["output"] for created in (plain, events[-1]["response"], later, spoken)]  # type: ignore[index]
    assert [[{**item, "id": ""} for item in output] for output in outputs] == [
        [{**item, "id": ""} for item in outputs[0]]
    ] * 4
    assert results(outputs[0]) == [FOUND]


async def test_a_conversation_on_a_socket_cites_what_an_earlier_turn_found() -> None:
    model = ScriptedBackend(
        [SEARCH, stated("At nine [1]."), stated("At nine【1】, I said.")], models=["m"]
    )
    async with serve(model) as one:
        one.parts.run.toolset = Toolset(
            file_search=FileSearch(Shelves(hit("High water is at nine.")))
        )
        async with talk(one) as socket:
            first = await socket.created("When?", tools=[TOOL], store=False)
            second = await socket.created(
                "Sure?", tools=[TOOL], store=False, previous_response_id=first["id"]
            )

    assert second["output"][0]["content"][0]["annotations"] == [CITED]
