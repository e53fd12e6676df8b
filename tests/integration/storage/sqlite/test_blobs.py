"""The file with the content of files, when it cannot be used."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.errors import StoreError
from antiphon.storage.sqlite.blobs import BlobFile


def open_files(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    return [name for name in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if name.startswith(str(folder))]


async def test_a_closed_file_says_so() -> None:
    blobs = BlobFile(None)
    await blobs.put("row_1", 0, b"content", is_last=True)
    await blobs.close()
    with pytest.raises(StoreError, match=r"^The store is closed\.$"):
        await blobs.part("row_1", 0)


async def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"no database any more " * 1000)
    blobs = BlobFile(tmp_path / "a.db")
    with pytest.raises(StoreError, match=r"^The store's file is damaged\.$"):
        await blobs.part("row_1", 0)
    await blobs.close()


async def test_a_file_that_another_program_made_in_the_meantime_is_left_alone(tmp_path: Path) -> None:
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
