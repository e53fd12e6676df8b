"""One tenant's background jobs leave room for another's (attack 9)."""

import asyncio
from pathlib import Path

from tests.support.replay import ReplayBackend
from tests.support.rivals import PATIENCE, hang_for_a, rivals

JOBS = 80
"""More than a process makes at once."""

SLOTS, ONCE = 64, 16
"""Jobs that a process makes at once, and those that are waited for before the other tenant sends
one.
"""


async def test_a_crowd_of_jobs_does_not_hold_up_another_tenant(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    backend.script = hang_for_a

    def hanging() -> int:
        return sum(request["messages"][-1]["content"] == "A" for request in backend.requests)

    async with rivals(tmp_path, store_url, backend.url) as both:
        queued = await asyncio.gather(*(both.a.respond("A", background=True) for _ in range(JOBS)))
        async with asyncio.timeout(PATIENCE):
            while hanging() < ONCE:
                await asyncio.sleep(0.02)
            status, job = await both.b.respond("B", background=True)
            while job["status"] != "completed":
                await asyncio.sleep(0.02)
                status, job = await both.b.send_request("GET", f"/responses/{job['id']}")
        assert {code for code, _ in queued} == {status} == {200}
        assert ONCE <= hanging() < SLOTS
