"""A busy event loop or a stopped process loses no lease that nobody else took (attack 1)."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from bench.ports import free_port

from antiphon.storage.open import open_store
from antiphon.storage.operations import leases
from antiphon.storage.store import Store
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import Model, thinking

PATIENCE = 30.0
BEATS = 3
"""Beats of the heartbeat's thread; others take a worker for dead in less time."""

BLOCK = """
import os, signal, time
def block(*_):
    while os.path.exists("blocked"):
        time.sleep(0.05)
signal.signal(signal.SIGUSR1, block)
"""
"""On this signal the event loop stands still as long as the file is there."""


@asynccontextmanager
async def two_servers(
    model: Model, folder: Path, url: str
) -> AsyncIterator[tuple[Node, Node, aiohttp.ClientSession]]:
    """Two servers of one store; the loop of the first can be blocked."""
    one, other = (
        Node(f"n{i}", folder, free_port(), model.url_for(f"n{i}"), url, prelude=BLOCK)
        for i in range(2)
    )
    async with cluster([one, other]) as http:
        yield one, other, http


async def until(condition: Callable[[dict[str, int]], bool], store: Store) -> None:
    """Wait until the heartbeats are as wanted."""
    async with asyncio.timeout(PATIENCE):
        while not condition(dict(await store.read(leases.beats))):
            await asyncio.sleep(0.05)


async def begin(
    http: aiohttp.ClientSession, node: Node, conversation: str
) -> aiohttp.ClientResponse:
    """Begin a turn of a conversation; return when its model speaks."""
    body = {"model": "m", "input": "q", "conversation": conversation, "stream": True}
    response = await http.post(f"{node.url}/responses", json=body)
    assert response.status == 200
    await response.content.readuntil(b"output_text.delta")
    return response


async def new_conversation(http: aiohttp.ClientSession, node: Node) -> str:
    async with http.post(f"{node.url}/conversations", json={}) as response:
        created: dict[str, Any] = await response.json()
    return str(created["id"])


async def ends_well(
    http: aiohttp.ClientSession, node: Node, turn: aiohttp.ClientResponse, conversation: str
) -> None:
    """The turn completes, and stands in its conversation."""
    rest = await turn.read()
    assert b"event: response.completed" in rest, rest[-2000:]
    async with http.get(f"{node.url}/conversations/{conversation}/items") as response:
        items = (await response.json())["data"]
    assert [item["type"] for item in items] == ["message", "reasoning", "message"]


async def test_a_blocked_event_loop_keeps_its_leases(tmp_path: Path, store_url: str) -> None:
    async with thinking() as model, two_servers(model, tmp_path, store_url) as (one, other, http):
        store = await open_store(store_url)
        conversation = await new_conversation(http, one)
        (tmp_path / "blocked").touch()
        turn = await begin(http, one, conversation)
        one.process and one.process.send_signal(signal.SIGUSR1)
        await until(lambda beats: len(beats) == 1, store)
        seen = set()

        def has_beaten(beats: dict[str, int]) -> bool:
            assert len(beats) == 1, "the worker was taken for dead"
            seen.update(beats.values())
            return len(seen) > BEATS

        await until(has_beaten, store)
        body = {"model": "m", "input": "q", "conversation": conversation}
        async with http.post(f"{other.url}/responses", json=body) as response:
            assert (await response.json())["error"]["code"] == "conversation_locked"
        (tmp_path / "blocked").unlink()
        await ends_well(http, other, turn, conversation)
        await store.close()


async def test_a_stopped_server_keeps_unclaimed_jobs(tmp_path: Path, store_url: str) -> None:
    async with thinking() as model, two_servers(model, tmp_path, store_url) as (one, other, http):
        store = await open_store(store_url)
        stored, taken = [await new_conversation(http, one) for _ in range(2)]
        turns = [await begin(http, one, conversation) for conversation in (stored, taken)]
        one.stop()
        await until(lambda beats: not beats, store)  # the other server has called it dead
        body = {"model": "m", "input": "other", "conversation": taken}
        async with http.post(f"{other.url}/responses", json=body) as response:
            assert response.status == 200
        one.cont()
        await ends_well(http, one, turns[0], stored)
        lost = await turns[1].read()
        assert b"event: response.failed" in lost
        assert b"event: response.completed" not in lost
        assert b"Another server took over" in lost
        await store.close()
