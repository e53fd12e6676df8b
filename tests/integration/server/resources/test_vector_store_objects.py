"""Every object of vector stores against the SDK's types, the recorded ones of OpenAI, and the SDK
without asyncio.
"""

import asyncio
import json
from typing import Any

import openai
import pytest
from openai.types import (
    VectorStore,
    VectorStoreDeleted,
    VectorStoreSearchResponse,
)
from openai.types.vector_stores import (
    FileContentResponse,
    VectorStoreFile,
    VectorStoreFileBatch,
    VectorStoreFileDeleted,
)
from pydantic import TypeAdapter

from tests.support.recordings import MISSING, recorded
from tests.support.server import RunningServer

TEXT = b"Paris is the capital of France. It is known for the Eiffel Tower."


async def everything(server: RunningServer) -> dict[str, Any]:
    """One of each object, as JSON."""
    uploaded = (await server.sdk.files.create(file=("a.txt", TEXT), purpose="assistants")).id
    created = (await server.post("/vector_stores", json={"name": "test", "metadata": {"a": "b"}}))[
        1
    ]
    path = f"/vector_stores/{created['id']}"
    attached = (
        await server.post(f"{path}/files", json={"file_id": uploaded, "attributes": {"a": 1}})
    )[1]
    batch = (await server.post(f"{path}/file_batches", json={"file_ids": [uploaded]}))[1]
    await server.sdk.vector_stores.files.poll(
        uploaded, vector_store_id=str(created["id"]), poll_interval_ms=20
    )
    listed = (await server.get(f"{path}/file_batches/{batch['id']}/files"))[1]
    found = (await server.post(f"{path}/search", json={"query": "capital"}))[1]
    content = (await server.get(f"{path}/files/{uploaded}/content"))[1]
    entry = (await server.get(f"{path}/files/{uploaded}"))[1]
    detached = await deleted(server, f"{path}/files/{uploaded}")
    return {
        "made": created,
        "attached": attached,
        "entry": entry,
        "batch": batch,
        "listed": listed,
        "found": found,
        "content": content,
        "detached": detached,
        "deleted": await deleted(server, path),
    }


async def deleted(server: RunningServer, path: str) -> Any:
    async with server.http.delete(server.url + path) as response:
        return await response.json()


async def test_every_object_is_of_its_type(stateful: RunningServer) -> None:
    found = await everything(stateful)
    assert all(
        key in found["listed"] for key in ("object", "data", "first_id", "last_id", "has_more")
    )
    for kind, values in (
        (VectorStore, [found["made"]]),
        (VectorStoreFile, [found["attached"], found["entry"], *found["listed"]["data"]]),
        (VectorStoreFileBatch, [found["batch"]]),
        (VectorStoreSearchResponse, found["found"]["data"]),
        (FileContentResponse, found["content"]["data"]),
        (VectorStoreFileDeleted, [found["detached"]]),
        (VectorStoreDeleted, [found["deleted"]]),
    ):
        assert values
        for value in values:
            TypeAdapter(kind).validate_python(value, strict=True)


KINDS = {"vector_store": "made", "vector_store.file": "attached", "vector_store.deleted": "deleted"}
FILES = [
    path
    for path in recorded("pydantic-ai.model_file_search_tool*", "hosted")
    if path.suffix == ".json"
]
READ = {path.stem: json.loads(path.read_text()) for path in FILES}
RECORDED: list[Any] = [
    pytest.param(one, id=name) for name, one in READ.items() if one["object"] in KINDS
] or [pytest.param(None, marks=pytest.mark.skip(reason=MISSING))]


@pytest.mark.parametrize("recording", RECORDED)
async def test_an_object_has_the_keys_and_types_of_the_recorded_one(
    server: RunningServer, recording: Any
) -> None:
    created = (await everything(server))[KINDS[recording["object"]]]

    assert created.keys() == recording.keys()
    assert shape({**created, "metadata": {}, "attributes": {}}) == shape(
        {**recording, "metadata": {}, "attributes": {}}
    )


def shape(value: Any) -> Any:
    """The keys and types of a value, and the words that say what it is."""
    if isinstance(value, dict):
        return {
            key: one if key in ("object", "status", "type") else shape(one)
            for key, one in value.items()
        }
    return type(value)


@pytest.mark.wide
async def test_the_sdk_without_asyncio_uploads_polls_searches_and_deletes(
    stateful: RunningServer,
) -> None:
    def use() -> tuple[str, int, list[str], bool]:
        with openai.OpenAI(base_url=stateful.url, api_key="sk-test", max_retries=0) as sdk:
            store = sdk.vector_stores.create(name="sync")
            files = sdk.vector_stores.files
            batches = sdk.vector_stores.file_batches
            one = files.upload_and_poll(
                vector_store_id=store.id, file=("a.txt", TEXT), poll_interval_ms=20
            )
            batch = batches.upload_and_poll(
                store.id, files=[("b.txt", b"Rome"), ("c.txt", b"Oslo")], poll_interval_ms=20
            )
            hits = [
                hit.filename for hit in sdk.vector_stores.search(store.id, query="Eiffel Tower")
            ]
            return (
                one.status,
                batch.file_counts.completed,
                hits,
                sdk.vector_stores.delete(store.id).deleted,
            )

    assert await asyncio.to_thread(use) == ("completed", 2, ["a.txt"], True)
