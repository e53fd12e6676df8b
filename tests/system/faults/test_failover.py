"""What is left of what was acknowledged when a standby of PostgreSQL takes over."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from bench.ports import free_port

from antiphon.jobs.cleaner import POLL_INTERVAL
from tests.support.chance import SEED
from tests.support.postgres_pair import following
from tests.support.waiting import eventually, until
from tests.system.agents.test_killed_workers import cluster as agents_of
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import thinking
from tests.system.faults.nemesis import torment
from tests.system.faults.test_nemesis import SECONDS


@pytest.mark.rotating
@pytest.mark.timeout(SECONDS * 2 + 300)
async def test_servers_lose_nothing_with_synchronous_replication(tmp_path: Path) -> None:
    with following(is_synchronous=True) as pair:
        verdict = await torment(tmp_path, pair.url, SECONDS, SEED, postgres=pair)
    print(verdict.figures)

    assert not verdict.broken, "\n".join([f"seed {SEED}", *verdict.broken])


@pytest.mark.timeout(120)
async def test_what_asynchronous_replication_loses_is_unknown_and_reported(tmp_path: Path) -> None:
    with following(is_synchronous=False) as pair:
        async with thinking() as model:
            node = Node("n", tmp_path, free_port(), model.url_for("n"), pair.url)
            async with cluster([node], {}) as http:
                early = await _stored(http, node)
                await asyncio.to_thread(pair.stop_standby)
                late = await _stored(http, node)
                await asyncio.sleep(2 * POLL_INTERVAL)  # until the server has seen its place
                await asyncio.to_thread(pair.fail_over)
                status = await eventually(
                    lambda: _status(http, node), lambda found: found.get("older_failovers")
                )
                found = [await _found(http, node, one) for one in (early, late)]
                again = await _stored(http, node)
                found.append(await _found(http, node, again))

    assert status["older_failovers"] == 1
    assert found == [200, 404, 200]


@pytest.mark.rotating
@pytest.mark.timeout(200)
async def test_an_agents_step_that_may_run_once_does_so_with_synchronous_replication(
    tmp_path: Path,
) -> None:
    with following(is_synchronous=True) as pair:
        async with agents_of(tmp_path, pair.url) as (client, _):
            response = await client.responses.create(model="steps", input="run", background=True)
            for number in range(2):
                await until(lambda: f"run {number}" in _effects(tmp_path))  # noqa: B023
                await pair.restart()
            ended = await eventually(
                lambda: client.responses.retrieve(response.id),
                lambda found: found.status not in {"queued", "in_progress"},
                patience=100,
            )

    assert ended.status == "completed"
    effects = _effects(tmp_path)
    assert all(effects[f"run {number}"] == 1 for number in (1, 3)), "once is never twice"
    assert all(1 <= effects[f"run {number}"] <= 2 for number in (0, 2))


def _effects(folder: Path) -> Counter[str]:
    file = folder / "effects"
    return Counter(file.read_text().split("\n") if file.exists() else ())


async def _stored(http: aiohttp.ClientSession, node: Node) -> str:
    async with http.post(node.url + "/responses", json={"model": "m", "input": "q"}) as response:
        body = await response.json()
        assert response.status == 200, body
        return str(body["id"])


async def _found(http: aiohttp.ClientSession, node: Node, response_id: str) -> int:
    async with http.get(f"{node.url}/responses/{response_id}") as response:
        return response.status


async def _status(http: aiohttp.ClientSession, node: Node) -> dict[str, Any]:
    async with http.get(node.url.removesuffix("/v1") + "/status") as response:
        return dict(await response.json()) if response.status == 200 else {}
