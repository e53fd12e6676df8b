"""Running responses are shared: one tenant's slow responses leave slots for another tenant's."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.cli import antiphon
from tests.support.replay import ReplayBackend
from tests.support.rivals import PATIENCE, Rivals, hang_for_a, rivals

SLOTS = 10
SHARE = 8
SENT = 25


async def ended(attack: list[asyncio.Task[Any]], count: int) -> list[Any]:
    """What so many of the requests came to, once they have ended."""
    async with asyncio.timeout(PATIENCE):
        while sum(task.done() for task in attack) < count:
            await asyncio.sleep(0.01)
    return [task.result() for task in attack if task.done()]


async def status(folder: Path, both: Rivals, waiting: int) -> dict[str, Any]:
    """What `antiphon status` shows of running responses, once so many wait."""
    async with asyncio.timeout(PATIENCE):
        while True:
            done = await antiphon(folder, "status", "--json", "--url", both.serving.url)
            displayed: dict[str, Any] = next(
                one for one in json.loads(done.out)["shared"] if one["name"] == "responses"
            )
            if displayed["waiting"] == waiting:
                return displayed


async def test_a_tenant_with_many_slow_responses_leaves_slots_for_another(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = hang_for_a
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with rivals(
        tmp_path,
        store,
        backend.url,
        ANTIPHON_MAX_RESPONSES=str(SLOTS),
        ANTIPHON_METRICS_NETWORKS="127.0.0.1",
    ) as both:
        attack = [asyncio.create_task(both.a.respond("A", stream=True)) for _ in range(SENT)]
        # A's last requests are refused: as many may wait as there are slots.
        refused = await ended(attack, SENT - SHARE - SLOTS)
        displayed = await status(tmp_path, both, SLOTS)
        answer, body = await both.b.respond("B")
        called = sum(request["messages"][-1]["content"] == "A" for request in backend.requests)
        for task in attack:
            task.cancel()
        await asyncio.gather(*attack, return_exceptions=True)

    assert {(code, error["error"]["code"]) for code, error in refused} == {
        (503, "server_is_overloaded")
    }
    assert called == SHARE
    assert (displayed["in_use"], displayed["capacity"]) == (SHARE, SLOTS)
    assert displayed["oldest_wait"] > 0
    assert (answer, body["status"]) == (200, "completed")
