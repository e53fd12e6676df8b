"""Every n-th write to the disk fails: what was acknowledged is there, and the file is whole."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from bench.ports import free_port

from tests.support.programs import find, needs
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import thinking

STRACE = find("strace")
CALLS = {
    "write": "pwrite64",
    "sync": "fdatasync,fsync",
    "any": "pwrite64,fdatasync,fsync,ftruncate",
}

CASES = [
    ("write", 1),
    ("sync", 1),
    *((calls, every) for calls in ("write", "any") for every in (41, 83, 167)),
]
CASES += [("sync", every) for every in (3, 5, 11)]
"""Which calls fail, and every so manieth of them: all, one of a save and a half, or one of a few
saves.

A save writes some 13 pages with two calls each. A number below that would fail every save, as 1
does.
"""

CLIENTS = 3

LEAST = 4
"""Responses that are acknowledged while the disk fails, unless every call fails."""

PATIENCE = aiohttp.ClientTimeout(total=5)
"""A client's: where the same call fails each time, the server goes on trying."""

PERSEVERANCE = 30.0
"""Seconds within which so many have been acknowledged, and something was refused."""


@asynccontextmanager
async def failing(pid: int, calls: str, every: int) -> AsyncIterator[None]:
    """Have every so manieth of these calls of a process fail, as a broken disk does."""
    rule = f"inject={calls}:error=EIO:when={every}+{every}"
    command = (
        str(STRACE),
        "-f",
        "-o",
        "/dev/null",
        "-p",
        str(pid),
        "-e",
        f"trace={calls}",
        "-e",
        rule,
    )
    tracer = await asyncio.create_subprocess_exec(
        *command, stdin=-3, stdout=-3, stderr=asyncio.subprocess.PIPE
    )
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


class Users:
    """Clients of a server; `known` holds the states that it acknowledged, `refused` counts the
    requests that failed.
    """

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = url
        self.known: dict[str, str] = {}
        self.refused = 0

    async def use(self) -> None:
        """Have each client create plainly, stream, create in the background and cancel that."""
        await asyncio.gather(*(self._use_once(number) for number in range(CLIENTS)))

    async def _use_once(self, number: int) -> None:
        body = {"model": "m", "input": f"q{number}"}
        for extra in (
            {},
            {"stream": True},
            {"background": True},
            {"background": True, "stream": True},
        ):
            if reported := await self._post("/responses", body | extra):
                self.known |= (acknowledged := states(reported, "stream" in extra))
                for response_id in [
                    one for one, state in acknowledged.items() if state == "queued"
                ]:
                    if reported := await self._post(f"/responses/{response_id}/cancel"):
                        self.known |= states(reported, is_stream=False)

    async def _post(self, path: str, body: dict[str, Any] | None = None) -> bytes:
        """Return the reply; nothing where the request failed or took too long."""
        try:
            async with self._http.post(
                f"{self._url}{path}", json=body, timeout=PATIENCE
            ) as response:
                if response.status == 200:
                    return await response.read()
        except (TimeoutError, aiohttp.ClientError):
            pass
        self.refused += 1
        return b""


def states(reported: bytes, is_stream: bool) -> dict[str, str]:
    if not is_stream:
        response = json.loads(reported)
        return {response["id"]: response["status"]}
    events = [json.loads(line[6:]) for line in reported.split(b"\n") if line.startswith(b"data: ")]
    ends = [event["response"] for event in events if "response" in event]
    # A response that failed because it could not be stored was told so, and need not be there.
    return {one["id"]: one["status"] for one in ends[-1:] if one["status"] != "failed"}


@needs(STRACE, "strace")
@pytest.mark.parametrize(("calls", "every"), CASES)
async def test_nothing_acknowledged_is_lost(tmp_path: Path, calls: str, every: int) -> None:
    path = tmp_path / "antiphon.db"
    async with thinking() as model:
        node = Node("n0", tmp_path, free_port(), model.url_for("n0"), f"sqlite://{path}")
        async with cluster([node]) as http:
            users = Users(http, node.url)
            await users.use()
            before = len(users.known)
            assert node.process is not None
            async with failing(node.process.pid, CALLS[calls], every):
                await use_until(users, before + (LEAST if every > 1 else 0))
            amid = len(users.known)
            await users.use()
            after = len(users.known)
            await node.kill()
            await node.start()
            found = await poll(http, node.url, users.known)
    assert found == users.known
    # Four of each client, while the disk is whole; without these the equality above shows nothing.
    assert (before, after - amid) == (4 * CLIENTS, 4 * CLIENTS)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


async def use_until(users: Users, known: int) -> None:
    """Use a server until so many responses are known and something was refused."""
    async with asyncio.timeout(PERSEVERANCE):
        while len(users.known) < known or not users.refused:
            await users.use()


async def poll(http: aiohttp.ClientSession, url: str, known: dict[str, str]) -> dict[str, Any]:
    """Return the states of responses.

    In `known` those that were still open become what they are.
    """
    found: dict[str, Any] = {}
    for response_id, state in known.items():
        async with http.get(f"{url}/responses/{response_id}") as response:
            found[response_id] = (await response.json()).get("status")
        if state in ("queued", "in_progress") and found[response_id]:
            known[response_id] = found[response_id]
    return found
