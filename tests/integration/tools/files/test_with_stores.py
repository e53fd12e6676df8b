"""Files that the SDK uploads, in vector stores of both databases, searched by a model and cited."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.storage.open import open_store
from antiphon.storage.records.tenants import Role
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.keys import issued
from tests.support.parts import called, stated
from tests.support.server import RunningServer, serve

TIDES = "High water in Brest is at nine in the morning and at half past nine in the evening."
PORTS = "The port of Roscoff has ferries to Ireland."
CANARY = "canary-4711 knows when high water is in Brest"
SEARCH = called("file_search", '{"queries": ["high water in Brest", "tide table"]}')
RESULTS: Any = ["file_search_call.results"]


@pytest.fixture
async def server(store_url: str) -> AsyncIterator[RunningServer]:
    model = ScriptedBackend([SEARCH, stated("At nine", " [1].")] * 3, models=["m"])
    async with serve(model, store=store_url, has_tools=True) as one:
        yield one


async def stocked(sdk: AsyncOpenAI, **texts: str) -> str:
    """A vector store of these texts, by their names."""
    store = (await sdk.vector_stores.create(name="notes")).id
    files = [(f"{name}.md", text.encode()) for name, text in texts.items()]
    async with asyncio.timeout(60):
        batch = await sdk.vector_stores.file_batches.upload_and_poll(
            store, files=files, poll_interval_ms=20
        )
    assert batch.file_counts.completed == len(texts)
    return store


async def requested(sdk: AsyncOpenAI, *store_ids: str, **fields: Any) -> Any:
    tool: Any = {"type": "file_search", "vector_store_ids": list(store_ids), **fields}
    return await sdk.responses.create(model="m", input="When?", tools=[tool], include=RESULTS)


@pytest.mark.wide
async def test_what_was_uploaded_is_found_and_cited(server: RunningServer) -> None:
    store = await stocked(server.sdk, tides=TIDES, ports=PORTS)

    search, message = (await requested(server.sdk, store)).output

    assert (search.status, search.queries) == ("completed", ["high water in Brest", "tide table"])
    found = search.results[0]
    assert (found.filename, found.text, found.to_dict()["vector_store_id"]) == (
        "tides.md",
        TIDES,
        store,
    )
    assert 0 < found.score <= 1
    part = message.content[0]
    assert (part.text, part.annotations[0].filename, part.annotations[0].index) == (
        "At nine.",
        "tides.md",
        7,
    )
    assert part.annotations[0].file_id == found.file_id


@pytest.mark.wide
async def test_a_filter_leaves_files_out(server: RunningServer) -> None:
    store = await stocked(server.sdk, tides=TIDES, old=TIDES + " So it was in 1900.")
    for one in (await server.sdk.vector_stores.files.list(store)).data:
        name = (await server.sdk.files.retrieve(one.id)).filename
        year = 1900 if name == "old.md" else 2026
        await server.sdk.vector_stores.files.update(
            one.id, vector_store_id=store, attributes={"year": year}
        )

    response = await requested(
        server.sdk, store, filters={"type": "gt", "key": "year", "value": 2000}
    )

    assert [one.filename for one in response.output[0].results] == ["tides.md"]
    assert response.output[0].results[0].attributes == {"year": 2026}


@pytest.mark.wide
async def test_a_deleted_store_is_refused_and_its_files_are_found_no_more(
    server: RunningServer,
) -> None:
    store = await stocked(server.sdk, tides=TIDES)
    other = await stocked(server.sdk, ports=PORTS)
    await server.sdk.vector_stores.delete(store)

    with pytest.raises(NotFoundError, match=f"No vector store found with id '{store}'"):
        await requested(server.sdk, store, other)
    response = await requested(server.sdk, other)

    assert TIDES not in response.to_json()


@pytest.mark.wide
async def test_no_tenant_searches_the_stores_of_another(store_url: str) -> None:
    opened = await open_store(store_url)
    owner, stranger = [
        (await issued(opened, name, role=Role.READ))[0] for name in ("owner", "stranger")
    ]
    answers = [stated("I do not know.")]
    model = ScriptedBackend(lambda request: answers.pop(), models=["m"])
    async with serve(model, store=opened, has_tools=True) as one:
        theirs = await stocked(one.sdk.with_options(api_key=owner), secret=CANARY)
        sdk = one.sdk.with_options(api_key=stranger)
        mine = await stocked(sdk, tides=TIDES)
        answers.append(
            called("file_search", f'{{"queries": ["Brest"], "vector_store_ids": ["{theirs}"]}}')
        )

        with pytest.raises(NotFoundError) as foreign:
            await requested(sdk, theirs)
        with pytest.raises(NotFoundError) as unknown:
            await requested(sdk, "vs_" + "0" * len(theirs.removeprefix("vs_")))
        response = await requested(sdk, mine)

    assert str(foreign.value).replace(theirs, "") == str(unknown.value).replace(
        "vs_" + "0" * (len(theirs) - 3), ""
    )
    assert [found.filename for found in response.output[0].results] == ["tides.md"]
    assert CANARY not in response.to_json() + str(model.requests)


async def test_a_wrong_filter_is_refused_by_its_path(server: RunningServer) -> None:
    store = await stocked(server.sdk, tides=TIDES)
    with pytest.raises(BadRequestError) as refused:
        await requested(server.sdk, store, filters={"type": "eq", "key": "year"})
    assert refused.value.param == "tools[0].filters.value"
