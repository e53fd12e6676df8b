"""A server dies, hangs or ends while it ingests a file, and another one finishes: every chunk once,
none lost.
"""

import asyncio
import signal
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from bench.ports import free_port

from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks, leases
from antiphon.storage.store import Store
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import thinking

LINES = 120_000
"""Lines of the file: it takes seconds to ingest."""

TEXT = "".join(
    f"Line {number} says what every line says, and a little more than that.\n"
    for number in range(LINES)
)

PATIENCE = 60.0
"""Seconds for another server to notice and to finish."""


async def requested(
    http: aiohttp.ClientSession, node: Node, method: str, path: str, **value: Any
) -> dict[str, Any]:
    async with http.request(method, node.url + path, **value) as response:
        body = await response.json()
        assert response.status == 200, body
        return dict(body)


async def uploaded(http: aiohttp.ClientSession, node: Node, text: str, name: str) -> str:
    form = aiohttp.FormData({"purpose": "assistants"}, default_to_multipart=True)
    form.add_field("file", BytesIO(text.encode()), filename=name)
    return str((await requested(http, node, "POST", "/files", data=form))["id"])


async def claimed(store: Store) -> None:
    """Wait until some worker has the file."""
    async with asyncio.timeout(PATIENCE):
        while not await store.read(leases.beats):
            await asyncio.sleep(0.01)


async def finished(
    http: aiohttp.ClientSession, node: Node, vector_store: str, file: str
) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await requested(
                http, node, "GET", f"/vector_stores/{vector_store}/files/{file}"
            )
            if found["status"] != "in_progress":
                return found
            await asyncio.sleep(0.05)


@pytest.mark.rotating
@pytest.mark.parametrize("fault", ["kill", "stop", "term"])
async def test_another_server_finishes_an_ingestion(
    tmp_path: Path, store_url: str, fault: str
) -> None:
    if fault == "stop" and store_url.startswith("sqlite"):
        pytest.skip(
            "a process that is held in the middle of a write holds the lock of SQLite's file, and "
            "all writers wait"
        )
    async with thinking() as model:
        one, other = [
            Node(name, tmp_path, free_port(), model.url_for(name), store_url)
            for name in ("n0", "n1")
        ]
        async with cluster([one]) as http:
            file = await uploaded(http, one, TEXT, "lines.txt")
            vector_store = (
                await requested(http, one, "POST", "/vector_stores", json={"file_ids": [file]})
            )["id"]
            watching = await open_store(store_url)
            try:
                await claimed(watching)
                async with cluster([other]):
                    if fault == "kill":
                        await one.kill()
                    elif fault == "stop":
                        one.stop()
                    else:
                        assert await one.end(signal.SIGTERM) == 0
                    done = await finished(http, other, vector_store, file)
                    if fault == "stop":
                        one.cont()
                        await requested(http, one, "GET", f"/vector_stores/{vector_store}")
                    assert (done["status"], done["last_error"]) == ("completed", None)
                    await judge(http, other, watching, vector_store, done)
                    if fault != "stop":
                        await one.start()
            finally:
                await watching.close()


async def judge(
    http: aiohttp.ClientSession, node: Node, store: Store, vector_store: str, done: dict[str, Any]
) -> None:
    """Compare what is found with what an undisturbed ingestion of the same text leaves behind."""
    again = await uploaded(http, node, TEXT, "again.txt")
    whole = (await requested(http, node, "POST", "/vector_stores", json={"file_ids": [again]}))[
        "id"
    ]
    undisturbed = await finished(http, node, whole, again)
    assert done["usage_bytes"] == undisturbed["usage_bytes"]
    counts = [(await store.read(chunks.searched_store, "", one)) for one in (vector_store, whole)]
    assert counts[0] is not None
    assert counts[1] is not None
    assert (counts[0].chunks, counts[0].terms) == (counts[1].chunks, counts[1].terms)
    body = {"query": str(LINES // 2)}
    path = f"/vector_stores/{vector_store}/search"
    texts = [
        hit["content"][0]["text"]
        for hit in (await requested(http, node, "POST", path, json=body))["data"]
    ]
    assert len(texts) in (1, 2), "each chunk that has the line is found once"
    assert all(f"Line {LINES // 2} says" in text for text in texts)
