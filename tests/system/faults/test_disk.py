"""Every n-th write to the disk fails: what was acknowledged is there, and the file is whole."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.faults.cluster import Node, cluster, free_port
from tests.system.faults.model import thinking

STRACE = shutil.which("strace")
CALLS = {"write": "pwrite64", "sync": "fdatasync,fsync", "any": "pwrite64,fdatasync,fsync,ftruncate"}


@asynccontextmanager
async def failing(pid: int, calls: str, every: int) -> AsyncIterator[None]:
    """Have every so manieth of these calls of a process fail, as a broken disk does."""
    rule = f"inject={calls}:error=EIO:when={every}+{every}"
    command = (str(STRACE), "-f", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={calls}", "-e", rule)
    tracer = await asyncio.create_subprocess_exec(*command, stdin=-3, stdout=-3, stderr=asyncio.subprocess.PIPE)
    assert tracer.stderr is not None
    line = await tracer.stderr.readline()
    if b"attached" not in line:
        await tracer.wait()
        pytest.skip(f"strace may not attach here: {line.decode().strip()}")
    try:
        yield
    finally:
        tracer.terminate()
        await tracer.communicate()


async def use(http: aiohttp.ClientSession, url: str, number: int) -> dict[str, str]:
    """Create plainly, stream, make in the background and cancel; the states that were acknowledged."""
    known: dict[str, str] = {}
    body = {"model": "m", "input": f"q{number}"}
    for extra in ({}, {"stream": True}, {"background": True}, {"background": True, "stream": True}):
        async with http.post(f"{url}/responses", json=body | extra) as response:
            told = await response.read()
        if response.status == 200:
            known |= states(told, "stream" in extra)
    for response_id in [one for one, state in known.items() if state == "queued"]:
        async with http.post(f"{url}/responses/{response_id}/cancel") as response:
            if response.status == 200:
                known[response_id] = (await response.json())["status"]
    return known


def states(told: bytes, is_stream: bool) -> dict[str, str]:
    if not is_stream:
        response = json.loads(told)
        return {response["id"]: response["status"]}
    events = [json.loads(line[6:]) for line in told.split(b"\n") if line.startswith(b"data: ")]
    ends = [event["response"] for event in events if "response" in event]
    # A response that failed because it could not be stored was told so, and need not be there.
    return {one["id"]: one["status"] for one in ends[-1:] if one["status"] != "failed"}


@pytest.mark.skipif(STRACE is None, reason="strace is not installed: no disk can be made to fail")
@pytest.mark.parametrize("every", [2, 3, 5, 11])
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
async def test_nothing_acknowledged_is_lost(tmp_path: Path, calls: str, every: int) -> None:
    path = tmp_path / "antiphon.db"
    known: dict[str, str] = {}
    async with thinking() as model:
        node = Node("n0", tmp_path, free_port(), model.url_for("n0"), f"sqlite://{path}")
        async with cluster([node]) as http:
            assert node.process is not None
            async with failing(node.process.pid, calls, every):
                for number in range(3):
                    for one in await asyncio.gather(*(use(http, node.url, 10 * number + i) for i in range(3))):
                        known |= one
            await node.kill()
            await node.start()
            found: dict[str, Any] = {}
            for response_id, state in known.items():
                async with http.get(f"{node.url}/responses/{response_id}") as response:
                    found[response_id] = (await response.json()).get("status")
                if state in ("queued", "in_progress") and found[response_id]:
                    known[response_id] = found[response_id]
    assert found == known
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
