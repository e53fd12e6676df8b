"""Histories that are loaded count towards the memory that a server may use, whatever their tenant
asks for.
"""

import asyncio
import json
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.records.responses import StoredItem, StoredResponse
from tests.support.replay import ReplayBackend
from tests.support.rivals import Tenant, hang_for_a, rivals

MEGABYTE = 1024 * 1024
ITEMS = 54
RESPONSES = 6
TURNS = 20
LIMIT = 256 * MEGABYTE
MARGIN = 100 * MEGABYTE


def item(text: str) -> StoredItem:
    key = new_id("msg")
    message = {"type": "message", "id": key, "status": "completed", "role": "user"}
    return StoredItem(
        key, msgspec.json.encode({**message, "content": [{"type": "input_text", "text": text}]})
    )


async def fill(url: str, text: str) -> str:
    """Store a chain of 54 items for A; return the id of its last response."""
    store = await open_store(url)
    parent = None
    now = int(time.time())
    body = msgspec.json.encode({"id": "resp", "object": "response", "model": "m", "output": []})
    for _ in range(RESPONSES):
        items = [item(text) for _ in range(ITEMS // RESPONSES)]
        one = StoredResponse(new_id("resp"), now, "completed", parent, body, items, tenant="a")
        await store.save(replace(one, expires_at=now + 86_400))
        parent = one.id
    await store.close()
    assert parent is not None
    return parent


async def begin(
    tenant: Tenant, previous: str, stack: AsyncExitStack
) -> tuple[aiohttp.ClientResponse, str]:
    """Begin a turn that ends with the stack; return its reply, and the code of the error that it
    may be.
    """
    body: dict[str, Any] = {
        "model": "m",
        "input": "A",
        "stream": True,
        "previous_response_id": previous,
    }
    reply = await tenant.http.post(f"{tenant.url}/responses", json=body)
    stack.callback(reply.close)
    if reply.status != 200:
        return reply, json.loads(await reply.read())["error"]["code"]
    async for line in reply.content:
        if b"output_text.delta" in line:
            break
    return reply, ""


async def store_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgres":
        url: str = await request.getfixturevalue("postgres").database()
        return url
    return f"sqlite://{folder}/antiphon.db"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_turns_of_a_long_chain_stay_within_the_limit(
    kind: str, tmp_path: Path, backend: ReplayBackend, request: pytest.FixtureRequest
) -> None:
    backend.script = hang_for_a
    url = await store_of(kind, tmp_path, request)
    previous = await fill(url, "x" * MEGABYTE)
    async with (
        rivals(tmp_path, url, backend.url, ANTIPHON_MAX_BODIES=str(LIMIT)) as both,
        AsyncExitStack() as stack,
    ):
        await both.b.respond("B")
        idle = both.memory
        attack = asyncio.gather(*(begin(both.a, previous, stack) for _ in range(TURNS)))
        answered = [(await both.b.respond("B"))[0] for _ in range(20)]
        begun = await attack
        answered.append((await both.b.respond("B"))[0])

        assert {code for _, code in begun} == {"", "server_is_overloaded"}
        assert {(one.status, one.headers.get("retry-after")) for one, code in begun if code} == {
            (503, "1")
        }
        assert set(answered) == {200}
        assert both.peak_memory - idle <= LIMIT + MARGIN
        await stack.aclose()
        async with asyncio.timeout(30):  # until the server has seen the client leave
            while (await begin(both.a, previous, stack))[1]:
                pass


async def test_a_wide_character_in_each_text_of_a_chain_gains_nothing(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = hang_for_a
    url = await store_of("sqlite", tmp_path, None)  # type: ignore[arg-type]
    previous = await fill(url, "\N{GRINNING FACE}" + "x" * (MEGABYTE // 4))
    async with (
        rivals(tmp_path, url, backend.url, ANTIPHON_MAX_BODIES=str(LIMIT)) as both,
        AsyncExitStack() as stack,
    ):
        await both.b.respond("B")
        idle = both.memory
        begun = await asyncio.gather(*(begin(both.a, previous, stack) for _ in range(TURNS)))

        assert {code for _, code in begun} == {"", "server_is_overloaded"}
        assert (await both.b.respond("B"))[0] == 200
        assert both.peak_memory - idle <= LIMIT + MARGIN


async def test_a_chain_that_never_fits_is_rejected_for_good(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = hang_for_a
    url = await store_of("sqlite", tmp_path, None)  # type: ignore[arg-type]
    previous = await fill(url, "x" * MEGABYTE)
    async with (
        rivals(tmp_path, url, backend.url, ANTIPHON_MAX_BODIES=str(LIMIT // 2)) as both,
        AsyncExitStack() as stack,
    ):
        reply, code = await begin(both.a, previous, stack)

        assert (reply.status, code) == (413, "request_too_large")
        assert "retry-after" not in reply.headers
        assert (await both.b.respond("B"))[0] == 200
