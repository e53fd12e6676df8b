"""`antiphon backup` and `restore`: what was acknowledged before a backup is in it, and nothing is
overwritten.
"""

import asyncio
import os
import shlex
import shutil
import sqlite3
import stat
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.search.vectors import unit
from antiphon.storage.chunk_writer import write_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys, chunks, ingestions, vector_stores
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.records.chunks import ChunkRow
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore
from antiphon.storage.schema import EARLIER
from antiphon.storage.sql import migrations
from antiphon.storage.store import Store
from tests.store.files import new_file, put
from tests.support.cli import antiphon
from tests.support.command import Done
from tests.support.keys import issue
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.waiting import until

T = "acme"


def response(number: int = 0) -> StoredResponse:
    item = StoredItem(new_id("msg"), b'{"n":%d}' % number)
    return StoredResponse(
        new_id("resp"), 1, "completed", None, b"x" * 5000, tenant=T, output=[item]
    )


def inode(path: Path) -> int:
    return path.stat().st_ino


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


async def backup(home: Path, to: Path, store: Path) -> Done:
    return await antiphon(home, "backup", str(to), "--store", f"sqlite://{store}")


async def restore(home: Path, file: Path, store: Path, *flags: str) -> Done:
    return await antiphon(home, "restore", str(file), *flags, "--store", f"sqlite://{store}")


@asynccontextmanager
async def stored(path: Path, *responses: StoredResponse) -> AsyncIterator[Store]:
    """A store with these responses, open."""
    store = await open_store(f"sqlite://{path}")
    for one in responses:
        await store.save(one)
    yield store
    await store.close()


async def ingest(store: Store) -> None:
    """Put a file with a chunk into a vector store."""
    file = await put(store, new_file(T))
    assert file is not None
    await store.write(
        vector_stores.create,
        StoredVectorStore("vs_1", T, int(time.time())),
        [NewAttachment(file.id)],
    )
    found = await store.write(ingestions.claim, "w", 1)
    assert found is not None
    await write_chunks(store, found, [ChunkRow(0, "the cat sleeps", 3, unit([1.0, 0.5]))])
    assert await store.write(ingestions.complete, found, 1, 10)


async def is_searched(store: Store) -> None:
    """The chunk is found by a keyword and by its signature, and the store continues to work."""
    found = await store.read(chunks.match_keywords, T, "vs_1", ["cat"], None, 5)
    assert [text for _, text, _ in found.chunks] == ["the cat sleeps"]
    assert [
        count for _, count, _ in (await store.read(chunks.signatures, T, "vs_1", frozenset())).parts
    ] == [1]
    assert await put(store, new_file(T, b"another")) is not None


@pytest.mark.wide
async def test_a_backup_under_load_has_everything_that_was_acknowledged_before_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "backups" / "a.backup"
    copy.parent.mkdir()
    acknowledged: list[str] = []
    is_over = asyncio.Event()

    async def write(store: Store) -> None:
        while not is_over.is_set():
            one = response(len(acknowledged))
            await store.save(one)
            acknowledged.append(one.id)

    async with stored(path) as store:
        writing = [asyncio.create_task(write(store)) for _ in range(8)]
        await until(lambda: len(acknowledged) >= 500)
        before = list(acknowledged)
        done = await backup(tmp_path, copy, path)
        during = len(acknowledged) - len(before)
        is_over.set()
        await asyncio.gather(*writing)
    assert (done.code, during > 0) == (0, True), done.err
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        ids = {row[0] for row in connection.execute("SELECT id FROM responses")}
        items = connection.execute("SELECT count(*) FROM items").fetchone()[0]
    assert ids >= set(before)
    assert ids <= set(acknowledged)
    assert items == len(ids)

    restored = tmp_path / "new" / "folder" / "b.db"
    assert (await restore(tmp_path, copy, restored)).code == 0
    async with stored(restored, after := response()) as store:
        await store.inspect()
        for one in (*before, after.id):
            assert (await store.read(stored_responses.load, T, one)) is not None
    assert stat.S_IMODE(restored.stat().st_mode) == stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert names(copy.parent) == ["a.backup"]


async def test_a_restored_store_replaces_another_which_is_preserved(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    old = response()
    new = response()
    async with stored(path, old):
        assert (await backup(tmp_path, copy, path)).code == 0
    async with stored(path, new):
        pass
    refused = await restore(tmp_path, copy, path)
    async with stored(path) as store:
        assert await store.read(stored_responses.load, T, new.id) is not None
    done = await restore(tmp_path, copy, path, "--replace")

    assert (refused.code, done.code) == (2, 0)
    assert "--replace" in refused.err
    (saved,) = (tmp_path / name for name in names(tmp_path) if name.startswith("a.db.replaced-"))
    assert str(saved) in done.err
    for place, has_new in ((path, False), (saved, True)):
        async with stored(place) as store:
            assert await store.read(stored_responses.load, T, old.id) is not None
            assert (await store.read(stored_responses.load, T, new.id) is not None) is has_new


async def test_a_store_that_a_server_uses_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path, one := response()) as store:
        assert (await backup(tmp_path, copy, path)).code == 0
        refused = await restore(tmp_path, copy, path, "--replace")
        assert await store.read(stored_responses.load, T, one.id) is not None
        await store.save(response())

    assert refused.code == 2
    assert "is in use" in refused.err
    assert names(tmp_path) == ["a.backup", "a.db"]


async def test_a_damaged_store_is_replaced_and_its_file_preserved(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path, one := response()):
        assert (await backup(tmp_path, copy, path)).code == 0
    path.write_bytes(b"no database any more " * 1000)
    path.with_name("a.db-wal").write_bytes(b"its log")
    done = await restore(tmp_path, copy, path, "--replace")
    assert done.code == 0
    (saved,) = (
        tmp_path / name for name in names(tmp_path) if "replaced" in name and name.endswith("Z")
    )
    assert saved.read_bytes().startswith(b"no database any more")
    assert saved.with_name(f"{saved.name}-wal").read_bytes() == b"its log"

    async with stored(path) as store:
        assert await store.read(stored_responses.load, T, one.id) is not None


def damaged(copy: Path) -> str:
    content = bytearray(copy.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    copy.write_bytes(content)
    return "is damaged"


def foreign(copy: Path) -> str:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA application_id = 1")
    return "is not an Antiphon database"


def newer(copy: Path) -> str:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations('sqlite')) + 1}")
    return "upgrade Antiphon"


def earlier(copy: Path) -> str:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(f"PRAGMA application_id = {0x416E7470}")
    return EARLIER


def garbage(copy: Path) -> str:
    copy.write_bytes(b"not a database at all " * 1000)
    return "cannot be read"


def missing(copy: Path) -> str:
    copy.unlink()
    return "does not exist"


@pytest.mark.parametrize("spoil", [damaged, foreign, newer, earlier, garbage, missing])
async def test_a_backup_that_is_no_good_changes_nothing(
    tmp_path: Path, spoil: Callable[[Path], str]
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path, *(saved := [response() for _ in range(20)])):
        assert (await backup(tmp_path, copy, path)).code == 0
    words = spoil(copy)
    before = names(tmp_path)
    refused = await restore(tmp_path, copy, path, "--replace")

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert words in refused.err
    assert names(tmp_path) == before
    async with stored(path) as store:
        assert await store.read(stored_responses.load, T, saved[0].id) is not None


class Miscopying(sqlite3.Connection):
    """Copies to a disk that loses something of what it wrote."""

    def backup(self, target: sqlite3.Connection, **how: Any) -> None:
        super().backup(target, **how)
        target.execute("PRAGMA application_id = 1")


async def test_a_copy_that_is_not_like_its_original_is_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path, response()):
        assert (await backup(tmp_path, copy, path)).code == 0
    with monkeypatch.context() as spoiled:
        spoiled.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Miscopying))
        refused = [
            await backup(tmp_path, tmp_path / "b.backup", path),
            await restore(tmp_path, copy, tmp_path / "b.db"),
            await restore(tmp_path, copy, path, "--replace"),
        ]

    assert [one.code for one in refused] == [2, 2, 2]
    assert all("is not an Antiphon database" in one.err for one in refused)
    assert {one.partition("-")[0] for one in names(tmp_path)} == {"a.backup", "a.db"}


class Full(sqlite3.Connection):
    """Copies to a disk that has no room."""

    def backup(self, target: sqlite3.Connection, **how: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")


async def test_a_failed_copy_reports_the_reason_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path):
        pass
    with monkeypatch.context() as full:
        full.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Full))
        refused = await backup(tmp_path, copy, path)

    assert (refused.code, f"{copy} cannot be written: database or disk is full" in refused.err) == (
        2,
        True,
    )
    assert names(tmp_path) == ["a.db"]


async def test_a_file_that_is_in_the_way_of_a_copy_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path):
        pass
    (tmp_path / f".a.backup.{os.getpid()}.part").symlink_to(tmp_path / "other")
    refused = await backup(tmp_path, copy, path)

    assert (refused.code, "File exists" in refused.err) == (2, True)
    assert not (tmp_path / "other").exists()


async def test_a_copy_is_on_disk_before_it_has_its_name_and_the_replaced_file_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path, response()):
        pass
    written: list[tuple[int, bool]] = []
    target = copy

    def written_to_disk(descriptor: int) -> None:
        file = os.fstat(descriptor).st_ino
        if target == path and not written:
            other = sqlite3.connect(path, timeout=0)
            with closing(other), pytest.raises(sqlite3.OperationalError, match="lock"):
                other.execute("BEGIN IMMEDIATE")
        written.append((file, target.exists() and inode(target) == file))

    monkeypatch.setattr(os, "fsync", written_to_disk)
    folder = inode(tmp_path)
    for target, act in (
        (copy, backup(tmp_path, copy, path)),
        (path, restore(tmp_path, copy, path, "--replace")),
    ):
        written.clear()
        assert (await act).code == 0
        assert written == [(inode(target), False), (folder, False)]


async def test_a_backup_overwrites_nothing_and_needs_a_store(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    nothing = await backup(tmp_path, copy, path)
    memory = await antiphon(tmp_path, "backup", str(copy), "--store", "sqlite://")
    async with stored(path):
        nowhere = await backup(tmp_path, tmp_path / "none" / "a.backup", path)
        copy.write_text("mine")
        refused = await backup(tmp_path, copy, path)

    assert [one.code for one in (nothing, memory, nowhere, refused)] == [2] * 4
    assert "does not exist" in nothing.err
    assert "in memory" in memory.err
    assert "cannot be written" in nowhere.err
    assert copy.read_text() == "mine"


async def test_what_is_left_of_another_database_is_not_mixed_into_a_restored_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    async with stored(path):
        assert (await backup(tmp_path, copy, path)).code == 0
    path.unlink()
    path.with_name("a.db-wal").write_bytes(b"left")
    refused = await restore(tmp_path, copy, path)

    assert refused.code == 2
    assert "a.db-wal belongs to another database" in refused.err


async def test_a_backup_keeps_api_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "a.backup"
    restored = tmp_path / "b.db"
    async with stored(path) as store:
        await issue(store)
        keys = await store.read(api_keys.every)
        assert (await backup(tmp_path, copy, path)).code == 0
    assert (await restore(tmp_path, copy, restored)).code == 0
    async with stored(restored) as store:
        assert await store.read(api_keys.every) == keys


@pytest.mark.wide
@pytest.mark.parametrize("is_superuser", [True, False])
async def test_the_command_that_is_printed_backs_up_and_restores_postgresql(
    tmp_path: Path, postgres: Postgres, is_superuser: bool
) -> None:
    """Row-level security hides every row from the `pg_dump` of an ordinary role, unless it is as
    printed.
    """
    url = await (postgres.database() if is_superuser else owned_by_a_role(postgres))
    store = await open_store(url)
    for tenant in (T, "other"):
        await store.save(one := replace(response(), tenant=tenant))
    await ingest(store)
    counts = await store.inspect()
    await store.close()
    printed = [
        (await antiphon(tmp_path, *words, "--store", url)).err
        for words in (("backup", "a.dump"), ("restore", "a.dump"))
    ]
    target = await postgres.database()
    dump, load = (words.partition(" command of PostgreSQL: ")[2].strip() for words in printed)
    programs = postgres.programs()
    user = urlsplit(url).username or ""
    for command in (dump, load.replace(url.replace(f"{user}@", ""), target)):
        done = await asyncio.to_thread(
            subprocess.run,
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PGUSER": user, "PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    again = await open_store(target)
    assert await again.inspect() == counts
    assert await again.read(stored_responses.load, "other", one.id) is not None
    await is_searched(again)
    await again.close()
    assert shutil.which("pg_dump", path=str(programs)) is not None


@pytest.mark.parametrize("words", [("backup", "a.dump"), ("restore", "a.dump")])
async def test_the_printed_command_has_the_url_without_user_information(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    printed = (
        await antiphon(tmp_path, *words, "--store", "postgresql://antiphon:secret@db/antiphon")
    ).err
    assert "postgresql://db/antiphon" in shlex.split(printed.partition(" of PostgreSQL: ")[2])


async def test_the_content_of_files_is_copied_and_restored_separately(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "copy.db"
    other = tmp_path / "b.db"
    async with stored(path) as store:
        await store.put_blob_part("row_1", 0, b"content", is_last=True)
        await ingest(store)
    done = await backup(tmp_path, copy, path)
    assert (done.code, "content of files" in done.out) == (0, True)
    assert (tmp_path / "copy-files.db").stat().st_mode & 0o777 == 0o600
    assert (await restore(tmp_path, copy, other)).code == 0
    async with stored(other) as store:
        assert await store.blob_part("row_1", 0) == b"content"
        await is_searched(store)
    again = await backup(tmp_path, tmp_path / "copy-files.db", path)
    assert again.code == 2


async def test_nothing_is_restored_where_the_content_of_files_is_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "copy.db"
    other = tmp_path / "b.db"
    async with stored(path) as store:
        await store.put_blob_part("row_1", 0, b"content", is_last=True)
    await backup(tmp_path, copy, path)
    (tmp_path / "b-files.db").touch()
    refused = await restore(tmp_path, copy, other)
    assert (refused.code, "b-files.db already exists" in refused.err, other.exists()) == (
        2,
        True,
        False,
    )
