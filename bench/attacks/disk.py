"""A disk that tenant A fills: whether tenant B and the operator can still delete data, revoke keys
and purge.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from antiphon.storage.sqlite.reserve import SIZE
from bench.attacks.serving import issue, serving
from bench.attacks.tenant import PATIENCE
from bench.report import OURS, Reading
from bench.server import module

DISK = 64 * 1024 * 1024
MEGABYTE = 1024 * 1024
FILES = 5
"""Files and responses of B, each of which is deleted."""
FIGURE = "refused deletions, revocations and purges, a full disk"


def reading(folder: Path) -> Iterator[Reading]:
    """Fill a small disk, and count what is refused.

    Raises `RuntimeError` where it cannot be made, or does not fill.
    """
    with _disk(folder) as place, module("bench.attacks.backend", "0") as backend:
        store = f"sqlite://{place}/attack.db"
        keys = asyncio.run(issue(store))
        with serving(backend.port, folder, store) as server:
            deleted = asyncio.run(_deleted(server.port, keys[0][0], keys[1][0], place))
            refused = [what for what, is_done in deleted.items() if not is_done]
            refused += [
                name
                for name, command in _commands(store, keys[0][1]).items()
                if not _succeeds(command)
            ]
    if refused:
        print(f"a full disk: refused {', '.join(refused)}", file=sys.stderr, flush=True)
    yield FIGURE, OURS, len(refused)


@contextmanager
def _disk(folder: Path) -> Iterator[Path]:
    """Mount a file system in memory as long as the block lasts."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", place], capture_output=True
    )
    if mounted.returncode:
        raise RuntimeError(
            "a full disk: a file system can only be mounted by root, with the right to mount"
        )
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


async def _deleted(port: int, a: str, b: str, place: Path) -> dict[str, bool]:
    """Let A fill the disk; return whether B could delete each of its files and responses."""
    async with _client(port, a) as attacker, _client(port, b) as tenant:
        await _until_reserved(place)
        paths = [f"/v1/files/{(await _created(tenant, 'file'))['id']}" for _ in range(FILES)]
        paths += [
            f"/v1/responses/{(await _created(tenant, 'response'))['id']}" for _ in range(FILES)
        ]
        for kind in ("file", "response"):
            while "id" in await _created(attacker, kind):
                """The disk has space for another one."""
        return {path: await _deletes(tenant, path) for path in paths}


async def _until_reserved(place: Path) -> None:
    """Wait until the server has reserved space for deletions."""
    async with asyncio.timeout(PATIENCE):
        while not _is_reserved(place):  # noqa: ASYNC110 - it must be looked for
            await asyncio.sleep(0.05)


def _is_reserved(place: Path) -> bool:
    return any(file.stat().st_size == SIZE for file in place.glob("*-reserve"))


async def _created(client: aiohttp.ClientSession, kind: str) -> dict[str, Any]:
    """Upload a file or store a response; return the reply, whatever it is."""
    if kind == "response":
        async with client.post("/v1/responses", json={"model": "m", "input": "Hello!"}) as reply:
            return dict(await reply.json())
    form = aiohttp.FormData({"purpose": "assistants"})
    form.add_field(
        "file", os.urandom(MEGABYTE), filename="a.txt"
    )  # equal files would be stored once
    async with client.post("/v1/files", data=form) as reply:
        return dict(await reply.json())


async def _deletes(client: aiohttp.ClientSession, path: str) -> bool:
    async with client.delete(path) as reply:
        return reply.status == 200


def _client(port: int, key: str) -> aiohttp.ClientSession:
    headers = {"authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    return aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers, timeout=timeout)


def _commands(store: str, key_id: str) -> dict[str, list[str]]:
    """Return the commands of the operator."""
    antiphon = [sys.executable, "-m", "antiphon"]
    return {
        "keys revoke": [*antiphon, "keys", "revoke", key_id, "--store", store],
        "purge": [*antiphon, "purge", "--yes", "--store", store],
    }


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
