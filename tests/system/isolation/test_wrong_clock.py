"""A second server whose clock is 40 days ahead deletes nothing that was acknowledged (attack 3)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
from bench.ports import free_port

from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import thinking

DAYS = 40
PATIENCE = 30.0

POLLS = 10
"""Times that it looks whether to purge: the old server deleted within four seconds, which were two
of them.
"""


def ahead(polls: Path) -> str:
    """A server's prelude: its clock is wrong, it purges again and again, and each time it writes a
    byte.
    """
    return f"""
import time
import antiphon.ids
antiphon.ids.now = lambda: time.time() + {DAYS} * 86_400
from antiphon.jobs import cleaner
cleaner.POLL_INTERVAL, cleaner.PURGE_EVERY = 0.1, 0.0
poll_once = cleaner.Cleaner.poll_once
async def counted(self):
    await poll_once(self)
    with open({str(polls)!r}, "a") as file:
        file.write(".")
cleaner.Cleaner.poll_once = counted
"""


async def test_a_server_with_a_wrong_clock_deletes_nothing(tmp_path: Path, store_url: str) -> None:
    polls = tmp_path / "looks"
    async with thinking() as model:
        good = Node("good", tmp_path, free_port(), model.url_for("good"), store_url)
        bad = Node(
            "bad", tmp_path, free_port(), model.url_for("bad"), store_url, prelude=ahead(polls)
        )
        async with cluster([good, bad]) as http:

            async def post(node: Node, text: str, key: str = "") -> Any:
                headers = {"idempotency-key": key} if key else {}
                body = {"model": "m", "input": text}
                async with http.post(
                    f"{node.url}/responses", json=body, headers=headers
                ) as response:
                    assert response.status == 200
                    return await response.json()

            created = [await post(good, f"q{number}", f"key{number}") for number in range(3)]
            skew = 0.0
            async with asyncio.timeout(PATIENCE):
                while not skew:
                    await asyncio.sleep(0.05)
                    skew = (await status(http, bad))["clock_skew"]
            assert abs(skew - DAYS * 86_400) < 60
            assert abs((await status(http, good))["clock_skew"]) < 60
            async with http.get(bad.url.removesuffix("/v1") + "/metrics") as response:
                assert "antiphon_clock_skew_seconds{" in await response.text()
            enough = polls.stat().st_size + POLLS
            async with asyncio.timeout(PATIENCE):
                while polls.stat().st_size < enough:
                    for node in (good, bad):
                        for one in created:
                            async with http.get(f"{node.url}/responses/{one['id']}") as response:
                                assert response.status == 200, f"{one['id']} is gone at {node.name}"
            again = [
                await post(node, f"q{number}", f"key{number}")
                for number in range(3)
                for node in (good, bad)
            ]
            assert {one["id"] for one in again} == {one["id"] for one in created}


async def status(http: aiohttp.ClientSession, node: Node) -> dict[str, Any]:
    async with http.get(node.url.removesuffix("/v1") + "/status") as response:
        found: dict[str, Any] = json.loads(await response.text())
    return found
