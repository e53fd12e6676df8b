"""The file with the content of files, when it cannot be used."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.storage.sqlite import blobs as blob_files
from antiphon.storage.sqlite import file
from antiphon.storage.sqlite.blobs import BlobFile
from antiphon.storage.sqlite.file import connect
from tests.support.waiting import let_others_run


def open_files(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    return [
        name
        for name in map(os.path.realpath, Path("/proc/self/fd").iterdir())
        if name.startswith(str(folder))
    ]


async def test_a_closed_file_raises_an_error() -> None:
    blobs = BlobFile(None)
    await blobs.put("row_1", 0, b"content", is_last=True)
    await blobs.close()
    with pytest.raises(StoreError, match=r"^The store is closed\.$"):
        await blobs.part("row_1", 0)


async def test_content_in_memory_is_in_one_database() -> None:
    blobs = BlobFile(None)
    await asyncio.gather(
        *(blobs.put("row_1", number, b"%d" % number, is_last=True) for number in range(8))
    )

    assert await asyncio.gather(*(blobs.part("row_1", number) for number in range(9))) == [
        *(b"%d" % number for number in range(8)),
        None,
    ]
    assert [await blobs.delete("row_1", 5) for _ in range(3)] == [5, 3, 0]
    assert await blobs.part("row_1", 7) is None
    await blobs.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that were opened, in order."""
    connections: list[sqlite3.Connection] = []

    def noted(*place: Any) -> sqlite3.Connection:
        connections.append(connect(*place))
        return connections[-1]

    monkeypatch.setattr(blob_files, "connect", noted)
    return connections


async def test_the_last_part_waits_for_the_disk_and_the_file_is_created_for_large_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[sqlite3.Connection]
) -> None:
    monkeypatch.setattr(file, "SYNCHRONOUS", "FULL")
    blobs = BlobFile(tmp_path / "a.db")

    def setting(name: str) -> object:
        return opened[0].execute(f"PRAGMA {name}").fetchone()[0]

    for number, is_last in enumerate((False, True)):
        await blobs.put("row_1", number, b"content", is_last=is_last)
        assert setting("synchronous") == (2 if is_last else 1)
    settings = ("page_size", "journal_mode", "wal_autocheckpoint", "user_version", "application_id")
    assert [setting(name) for name in settings] == [16_384, "wal", 1024, 1, file.APPLICATION_ID]
    await blobs.close()


async def test_the_connection_of_each_thread_is_closed_after_its_last_operation(
    tmp_path: Path, opened: list[sqlite3.Connection]
) -> None:
    blobs = BlobFile(tmp_path / "a.db")
    await blobs.put("row_1", 0, b"content", is_last=True)
    reading = asyncio.create_task(blobs.part("row_1", 0))
    await let_others_run()
    await blobs.close()

    assert await reading == b"content"
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


async def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"no database any more " * 1000)
    blobs = BlobFile(tmp_path / "a.db")
    with pytest.raises(StoreError, match=r"^The store's file is damaged\.$"):
        await blobs.part("row_1", 0)
    await blobs.close()


async def test_a_file_created_by_another_program_meanwhile_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    blobs = BlobFile(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    content = path.read_bytes()
    with pytest.raises(StoreError, match=r"^The store cannot be used\.$") as refused:
        await blobs.put("row_1", 0, b"content", is_last=True)

    assert str(refused.value.__cause__) == f"{path} belongs to another program."
    assert open_files(tmp_path) == []
    assert path.read_bytes() == content
    await blobs.close()
