"""The faults of the guarantees: what clients, effects and journals of agents show after each.

Effects are counted in a file, outside of the store.
"""

import asyncio
import os
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.ports import free_port
from openai import APIError, AsyncOpenAI, OpenAIError

from antiphon.storage.open import open_store
from antiphon.storage.operations import leases
from antiphon_verify import check_event_stream
from tests.support.command import serving
from tests.support.postgres import Postgres
from tests.support.receiver import Receiver, receiving
from tests.support.waiting import drip, eventually, until
from tests.system.agents.test_killed_workers import (
    AGENTS,
    SETTINGS,
    Workers,
    cluster,
    hold_webhook,
    read,
    register,
    until_listed,
)
from tests.system.faults.test_full_disk import fill

CRASHING = """
import os
from antiphon.agents import agent

@agent("steps")
async def steps(ctx):
    async with ctx.message() as text:
        await text.write("Before.")
    await ctx.step("noted", str, "stored with the message")
    with open("effects", "a") as file:
        file.write("attempt\\n")
    async with ctx.message() as text:
        await text.write("half ")
        await ctx.step("dies", os._exit, 9)
"""

STEPS = AGENTS.replace("asyncio.sleep, 0.3", "asyncio.sleep, 1.5")
"""Slow enough that a fault comes before the end, also on a busy machine."""

AWAY = 8.0
"""Seconds without a database: longer than after which a silent worker expires (6)."""

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Receives webhooks."""
    async with receiving() as one:
        yield one


def effects(folder: Path) -> Counter[str]:
    file = folder / "effects"
    return Counter(file.read_text().split()) if file.exists() else Counter()


async def expire_dead(store: str, process: Any) -> None:
    """Wait for the death of the only worker, and expire it."""
    await process.wait()
    await expire_only_worker(store)


async def expire_only_worker(store: str) -> None:
    """Expire a worker that died, as others do when they have seen no heartbeat for 6 s."""
    opened = await open_store(store)
    try:
        beats = await opened.read(leases.beats)
        [dead] = (await opened.read(leases.agent_load)).offered
        await opened.write(leases.expire_worker, dead, beats[dead])
    finally:
        await opened.close()


async def follow(client: AsyncOpenAI, seen: list[Any]) -> None:
    """Resume the stream after the newest event, again and again, until its end."""
    response_id = seen[0]["response"]["id"]

    async def is_read_to_its_end() -> bool:
        after = seen[-1]["sequence_number"]
        try:
            stream = await client.responses.retrieve(response_id, stream=True, starting_after=after)
        except OpenAIError:  # the server, or its store, is away
            return False
        try:
            return await read(client, seen, stream)
        except APIError:  # the error of a response that failed, which is its end
            return True

    await eventually(is_read_to_its_end, bool, patience=60)


def hold_stream(seen: list[Any], response: Any) -> None:
    """No number and no item twice, none missing, and the texts are those of the response."""
    numbers = [event["sequence_number"] for event in seen]
    assert numbers == sorted(set(numbers)), "no number twice"
    closed = [e["item"]["id"] for e in seen if e["type"] == "response.output_item.done"]
    assert closed == [item.id for item in response.output], "no item twice, and none missing"


async def begin(client: AsyncOpenAI, events: int = 8) -> list[Any]:
    """Begin a background response; return its first events, after which the reader leaves."""
    seen: list[Any] = []
    stream = await client.responses.create(model="steps", input="run", background=True, stream=True)
    async for event in stream:
        seen.append(event.to_dict())
        if len(seen) >= events:
            break
    await stream.close()
    return seen


async def test_three_workers_that_die_of_it_fail_the_response_and_its_items_stay(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    async with cluster(tmp_path, store_url, CRASHING, receiver=receiver) as (client, workers):
        seen = await begin(client, 5)
        for _ in range(3):
            await expire_dead(store_url, workers.running[-1])
            await workers.add()
        await follow(client, seen)
        response = await client.responses.retrieve(seen[0]["response"]["id"])
        await hold_webhook(receiver, response)

    assert response.error is not None
    assert (response.status, response.error.code) == ("failed", "agent_crashed")
    assert response.output_text.startswith("Before.")
    assert effects(tmp_path)["attempt"] == 3
    hold_stream(seen, response)


async def test_a_stopped_worker_that_wakes_next_to_its_successor_writes_nothing(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    async with cluster(tmp_path, store_url, STEPS, receiver=receiver) as (client, workers):
        seen = await begin(client, 12)
        first = workers.running[0]
        before = sum(effects(tmp_path).values())
        first.send_signal(signal.SIGSTOP)
        await workers.add()
        await until(lambda: sum(effects(tmp_path).values()) > before, patience=60)
        first.send_signal(signal.SIGCONT)
        await follow(client, seen)
        response = await client.responses.retrieve(seen[0]["response"]["id"])
        await hold_webhook(receiver, response)

    assert response.status == "completed"
    assert response.output_text == "0 done1 done2 done3 doneall"
    hold_stream(seen, response)
    found = effects_by_number(tmp_path)
    assert found[1] == found[3] == 1, "once is never twice"
    assert all(1 <= found[number] <= 2 for number in (0, 2))


def effects_by_number(folder: Path) -> Counter[int]:
    lines = (folder / "effects").read_text().splitlines()
    return Counter(int(line.split()[1]) for line in lines)


async def test_a_server_that_dies_costs_its_readers_nothing(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    (tmp_path / "agents_of_test.py").write_text(STEPS)
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    workers = Workers(tmp_path, store_url)
    port = free_port()
    flags = ("--port", str(port), "--store", store_url)
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    try:
        async with serving(tmp_path, *flags) as server:
            await workers.add()
            await until_listed(client, "steps")
            await register(client, receiver)
            seen = await begin(client, 12)
            server.process.kill()
            await server.process.wait()
        async with serving(tmp_path, *flags):
            await follow(client, seen)
            response = await client.responses.retrieve(seen[0]["response"]["id"])
            await hold_webhook(receiver, response)
    finally:
        await workers.end()
        await client.close()

    assert response.status == "completed"
    hold_stream(seen, response)
    assert effects_by_number(tmp_path) == {0: 1, 1: 1, 2: 1, 3: 1}, "the worker went on"
    assert check_event_stream(seen) == []


async def test_code_that_changed_fails_the_response_and_runs_nothing(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    async with cluster(tmp_path, store_url, STEPS, receiver=receiver) as (client, workers):
        seen = await begin(client, 12)
        workers.running[0].kill()
        before = effects(tmp_path)
        changed = STEPS.replace('name = f"{ctx.input_text} {number}"', 'name = f"other {number}"')
        (tmp_path / "agents_of_test.py").write_text(changed)
        await expire_dead(store_url, workers.running[0])
        await workers.add()
        await follow(client, seen)
        response = await client.responses.retrieve(seen[0]["response"]["id"])
        await hold_webhook(receiver, response)

    assert response.error is not None
    assert (response.status, response.error.code) == ("failed", "agent_changed")
    assert "argument 1" in response.error.message
    assert response.output_text.startswith("0 done")
    assert effects(tmp_path) == before, "nothing of the new code took effect"
    hold_stream(seen, response)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={64 * 2**20}", "none", folder]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a file system can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


async def test_on_a_full_disk_steps_wait_for_space(tmp_path: Path, disk: Path) -> None:
    async with cluster(tmp_path, f"sqlite://{disk}/antiphon.db", STEPS) as (client, workers):
        seen = await begin(client, 12)
        filler = fill(disk)
        assert workers.running[0].stderr is not None
        async with asyncio.timeout(30):
            while b"full" not in (await workers.running[0].stderr.readline()).lower():
                """The worker has not noticed it yet."""
        stopped = effects_by_number(tmp_path)
        filler.unlink()
        await follow(client, seen)
        response = await client.responses.retrieve(seen[0]["response"]["id"])

    assert response.status == "completed"
    assert sum(stopped.values()) < 8
    hold_stream(seen, response)
    found = effects_by_number(tmp_path)
    assert max(found[1], found[3]) <= 1, "once is never twice"
    assert all(1 <= found[number] <= 2 for number in (0, 2))


async def test_while_the_database_is_away_steps_wait_and_then_go_on(
    tmp_path: Path, postgres: Postgres
) -> None:
    async with postgres.store() as url, cluster(tmp_path, url, STEPS) as (client, _):
        seen = await begin(client, 12)
        async with postgres.away():
            await drip(AWAY)
        await follow(client, seen)
        response = await client.responses.retrieve(seen[0]["response"]["id"])

    assert response.status == "completed"
    hold_stream(seen, response)
    found = effects_by_number(tmp_path)
    assert max(found[1], found[3]) <= 1, "once is never twice"
    assert all(1 <= found[number] <= 2 for number in (0, 2))
