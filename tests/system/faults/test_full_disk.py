"""On a full disk, data can be deleted and keys revoked; what failed for it works once there is
space again.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from antiphon.storage.sqlite.reserve import SIZE
from tests.support.command import PATIENCE, antiphon, serving
from tests.system.faults.model import thinking

DISK = 64 * 1024 * 1024
CONTENT = b"x" * (2 * 1024 * 1024)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", folder], capture_output=True
    ).returncode:
        pytest.skip("a file system can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


class Client:
    """A client of the server with one key."""

    def __init__(self, http: aiohttp.ClientSession, url: str, key: str) -> None:
        self._http = http
        self._url = url
        self._headers = {"authorization": f"Bearer {key}"}

    async def send_request(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self._http.request(
            method, f"{self._url}{path}", headers=self._headers, **more
        ) as reply:
            return reply.status, await reply.json(content_type=None)

    async def upload(self) -> tuple[int, Any]:
        form = aiohttp.FormData({"purpose": "assistants"})
        form.add_field("file", BytesIO(CONTENT + os.urandom(16)), filename="a.txt")
        return await self.send_request("POST", "/files", data=form)

    async def respond(self) -> tuple[int, Any]:
        return await self.send_request("POST", "/responses", json={"model": "m", "input": "Hello!"})

    async def status(self) -> dict[str, Any]:
        async with self._http.get(self._url.removesuffix("/v1") + "/status") as reply:
            found: dict[str, Any] = json.loads(await reply.read())
        return found

    async def metric(self) -> str:
        """Return what the metrics say of the disk."""
        async with self._http.get(self._url.removesuffix("/v1") + "/metrics") as reply:
            lines = (await reply.text()).splitlines()
        return next(line.split()[-1] for line in lines if line.startswith("antiphon_disk_full"))

    async def until_full(self, *, is_full: bool) -> None:
        """Wait until the status says so."""
        async with asyncio.timeout(PATIENCE):
            while (await self.status())["disk_full"] is not is_full:
                await asyncio.sleep(0.05)


def fill(disk: Path) -> Path:
    """Take all space of a disk; return the file that has it."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1024 * 1024, 4096):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                """It is full."""
    return filler


@asynccontextmanager
async def connected(home: Path, store: str, *keys: str) -> AsyncIterator[list[Client]]:
    async with thinking() as model, aiohttp.ClientSession() as http:
        arguments = ("--backend", model.url_for("n0"), "--store", store, "--port", "0")
        async with serving(home, *arguments, ANTIPHON_METRICS_NETWORKS="127.0.0.1") as server:
            yield [Client(http, server.url, key) for key in keys]


async def test_deletions_key_changes_and_purges_work_on_a_full_disk(
    tmp_path: Path, disk: Path
) -> None:
    store = f"sqlite://{disk}/antiphon.db"
    created = [
        await antiphon(tmp_path, "keys", "create", "--tenant", name, "--store", store)
        for name in "ab"
    ]
    ids = [
        line.split()[0]
        for done in created
        for line in done.err.splitlines()
        if line.startswith("key_")
    ]
    async with connected(tmp_path, store, *(done.out.strip() for done in created)) as (a, b):
        files = [(await a.upload())[1]["id"] for _ in range(3)]
        (_, response) = await a.respond()
        await until_reserved(disk)

        filler = fill(disk)
        assert (await a.upload())[0] == 503
        assert await until_refused(a) == 503
        for path in (f"/files/{files[0]}", f"/responses/{response['id']}"):
            assert (await a.send_request("DELETE", path))[0] == 200, path
        await a.until_full(is_full=True)
        assert float(await a.metric()) == 1.0
        assert (await a.respond())[0] == (await a.upload())[0] == 503
        revoked = await antiphon(tmp_path, "keys", "revoke", ids[1], "--store", store)
        assert revoked.code == 0, revoked.err
        async with asyncio.timeout(PATIENCE):
            while (await b.send_request("GET", "/files"))[0] != 401:
                await asyncio.sleep(0.05)
        purged = await antiphon(tmp_path, "purge", "--yes", "--store", store)
        assert purged.code == 0, purged.err
        assert (await a.send_request("DELETE", f"/files/{files[1]}"))[0] == 200

        filler.unlink()
        await a.until_full(is_full=False)
        assert (await a.respond())[0] == (await a.upload())[0] == 200
        assert (disk / "antiphon.db-reserve").stat().st_size == SIZE


async def until_reserved(disk: Path) -> None:
    """Wait until the server has reserved the space: soon after its start."""
    reserve = disk / "antiphon.db-reserve"
    async with asyncio.timeout(PATIENCE):
        while not (reserve.exists() and reserve.stat().st_size == SIZE):
            await asyncio.sleep(0.05)


async def until_refused(client: Client) -> int:
    """Store responses until one is refused: the log of the store may have some space of its own."""
    while (status := (await client.respond())[0]) == 200:
        pass
    return status


async def test_a_key_is_revoked_on_a_full_disk_while_no_server_runs(
    tmp_path: Path, disk: Path
) -> None:
    store = f"sqlite://{disk}/antiphon.db"
    created = await antiphon(tmp_path, "keys", "create", "--tenant", "a", "--store", store)
    key_id = next(line.split()[0] for line in created.err.splitlines() if line.startswith("key_"))
    async with connected(tmp_path, store, created.out.strip()):
        await until_reserved(disk)
    fill(disk)
    revoked = await antiphon(tmp_path, "keys", "revoke", key_id, "--store", store)
    assert revoked.code == 0, revoked.err
    assert "revoked" in (await antiphon(tmp_path, "keys", "list", "--store", store)).out
