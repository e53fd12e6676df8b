"""A process that is killed loses nothing that `save` returned from."""

import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.storage.operations import responses
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.sqlite.store import SqliteStore

SAVER = """
import asyncio, sys
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.sqlite.store import SqliteStore

async def save_for_ever(store, name):
    parent, number = None, 0
    while True:
        id = f"resp_{name}_{number}"
        items = [StoredItem(f"msg_{name}_{number}_{i}", id.encode() * 20) for i in range(3)]
        await store.save(StoredResponse(id, number, "completed", parent, id.encode(), items[:1], items[1:]))
        print(id, flush=True)
        parent, number = id, number + 1

async def main(url, round):
    store = SqliteStore.open(url)
    await asyncio.gather(*(save_for_ever(store, f"{round}_{task}") for task in range(8)))

asyncio.run(main(*sys.argv[1:]))
"""  # noqa: E501 - the lines of a text


async def killed_saver(url: str, round: int, after: int) -> list[str]:
    """Let a process save until it has acknowledged so many responses, kill it, and return what it
    acknowledged.
    """
    saver = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SAVER, url, str(round), stdout=asyncio.subprocess.PIPE
    )
    assert saver.stdout is not None
    lines = [await saver.stdout.readline() for _ in range(after)]
    os.kill(saver.pid, signal.SIGKILL)
    # What it wrote before it died counts too; a line cut in two was not yet said.
    lines += (await saver.stdout.read()).splitlines(keepends=True)
    assert await saver.wait() == -signal.SIGKILL
    return [line.decode().strip() for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize("round", range(6))
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(
    tmp_path: Path, round: int
) -> None:
    path = tmp_path / "antiphon.db"
    acknowledged = [
        name
        for i in range(2)
        for name in await killed_saver(f"sqlite://{path}", 2 * round + i, 40 * round + 1)
    ]

    store = SqliteStore.open(f"sqlite://{path}")
    for name in acknowledged:
        assert await store.read(responses.load, "", name) == expected(name)
        history = await store.read(responses.history, "", name)
        assert history is not None
        assert len(history) == 3 * (int(name.rpartition("_")[2]) + 1)
    await store.close()

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        halves = "SELECT response FROM items GROUP BY response HAVING count(*) <> 3"
        assert connection.execute(halves).fetchall() == []


def expected(id: str) -> StoredResponse:
    stem, _, number = id.rpartition("_")
    name = id.removeprefix("resp_")
    items = tuple(StoredItem(f"msg_{name}_{i}", id.encode() * 20) for i in range(3))
    parent = f"{stem}_{int(number) - 1}" if int(number) else None
    return StoredResponse(id, int(number), "completed", parent, id.encode(), items[:1], items[1:])
