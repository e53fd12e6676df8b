"""What the store opens, what it makes, and what it refuses without touching it."""

import os
import re
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ConfigError
from antiphon.storage.open import schema_of
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.schema import EARLIER, EARLIER_STORE
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.file import (
    blobs_next_to,
    open_file,
    open_memory,
    open_reader,
    open_writer,
    path_of,
    version,
)
from antiphon.storage.sqlite.store import SqliteStore

NO_CALLER = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in folder.iterdir()}


async def saved(path: Path) -> bytes:
    """Make a store with a response in it at this path; return the file's bytes."""
    store = SqliteStore.open(f"sqlite://{path}")
    await store.save(StoredResponse("resp_1", 1, "completed", None, b"x" * 20_000))
    await store.close()
    return path.read_bytes()  # noqa: ASYNC240 - a test waits for nobody else


def refusal(path: Path) -> str:
    """Open the store there, which must fail; return the words, without the path."""
    with pytest.raises(ConfigError) as caught:
        SqliteStore.open(f"sqlite://{path}", busy_timeout=0.01)
    head, _, reason = caught.value.message.partition(f"store: {path} ")
    assert head == ""
    return reason


def test_a_commit_is_on_the_disk_before_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # what the other tests do without
    path = tmp_path / "a.db"
    writer, reader = open_file(path, 1)
    with closing(writer), closing(reader), closing(open_writer(path, 1)) as another:
        assert {one.execute("PRAGMA synchronous").fetchone()[0] for one in (writer, another)} == {2}


SETTINGS = {
    "foreign_keys": 1,
    "recursive_triggers": 1,
    "journal_mode": "wal",
    "query_only": 0,
    "synchronous": 0,  # as the tests have it
    "wal_autocheckpoint": 4096,
    "journal_size_limit": 64 * 1024 * 1024,
}


def settings(connection: sqlite3.Connection, *names: str) -> dict[str, object]:
    return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


def test_every_connection_has_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    writer, reader = open_file(path, 1)
    with (
        closing(writer),
        closing(reader),
        closing(open_writer(path, 1)) as another,
        closing(open_reader(path)) as other,
    ):
        for one in (writer, another):
            assert settings(one, *SETTINGS) == SETTINGS
        for one in (reader, other):
            assert settings(one, "foreign_keys", "query_only") == {
                "foreign_keys": 1,
                "query_only": 1,
            }


def test_a_connection_that_cannot_replace_another_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"no database any more " * 1000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_writer(path, 0)
    assert not [
        name for name in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if name == str(path)
    ]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/antiphon.db", "/var/lib/antiphon.db"),
        ("sqlite:////var/lib/antiphon.db", "/var/lib/antiphon.db"),
        ("sqlite:///with space/100%25#1.db", "/with space/100%25#1.db"),
        ("sqlite:///~/antiphon.db", "/home/somebody/antiphon.db"),
    ],
)
def test_an_address_names_a_file(monkeypatch: pytest.MonkeyPatch, url: str, path: str) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    assert path_of(url) == Path(path)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_an_address_names_the_memory(url: str) -> None:
    assert path_of(url) is None


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "antiphon.db",
            "/var/antiphon.db",
            "sqlite:antiphon.db",
            "sqlite://antiphon.db",
            "sqlite:///",
        ),
        *("postgres:///antiphon", "sqlite:///antiphon.db?mode=ro", "sqlite:///a\0b"),
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SqliteStore.open(url)

    advice = "use sqlite:///absolute/path, or sqlite://"
    assert caught.value.message == f"store: {url} is not a valid store URL; {advice}"


def test_the_home_of_an_unknown_user_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^store: ~no-such-user/antiphon\.db: "):
        SqliteStore.open("sqlite:///~no-such-user/antiphon.db")


async def test_files_and_folders_are_created_for_their_owner_alone(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/one/two/antiphon.db")
    await store.save(StoredResponse("resp_1", 1, "completed", None, b"{}"))
    folder = tmp_path / "one" / "two"

    assert [mode(tmp_path / "one"), mode(folder)] == [0o700, 0o700]
    assert modes(folder) == {
        "antiphon.db": 0o600,
        "antiphon.db-shm": 0o600,
        "antiphon.db-wal": 0o600,
    }
    await store.close()


async def test_a_closed_store_is_one_file(tmp_path: Path) -> None:
    await saved(tmp_path / "antiphon.db")

    assert modes(tmp_path) == {"antiphon.db": 0o600}


async def test_a_closed_store_with_files_is_two_files(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    await store.put_blob_part("row_1", 0, b"content", is_last=True)
    assert await store.blob_part("row_1", 0) == b"content"
    await store.close()

    assert modes(tmp_path) == {"antiphon.db": 0o600, "antiphon-files.db": 0o600}


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "antiphon.db").touch()

    assert await saved(tmp_path / "antiphon.db")


async def test_the_address_stays_as_the_operator_wrote_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = SqliteStore.open("sqlite:///~/antiphon.db")

    assert store.url == "sqlite:///~/antiphon.db"
    assert (tmp_path / "antiphon.db").exists()
    await store.close()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith("is a folder")
    assert list(tmp_path.iterdir()) == []


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")

    assert refusal(tmp_path / "file" / "antiphon.db").startswith("cannot be opened: ")
    assert (tmp_path / "file").read_bytes() == b"mine"


@pytest.mark.parametrize(
    "content", [b"hello", b"hello, this is no database. " * 1000, b"\0" * 8192]
)
def test_a_file_that_is_no_database_is_refused_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "antiphon.db"
    path.write_bytes(content)

    assert refusal(path) == "is not an SQLite database"
    assert path.read_bytes() == content


@pytest.mark.parametrize("page", [0, 1, 2, -1])
async def test_a_damaged_file_is_refused_unchanged(tmp_path: Path, page: int) -> None:
    path = tmp_path / "antiphon.db"
    content = bytearray(await saved(path))
    start = page % (len(content) // 4096) * 4096 + (100 if page == 0 else 0)
    content[start : start + 16] = b"\xff" * 16
    path.write_bytes(content)

    assert refusal(path).startswith("is damaged")
    assert path.read_bytes() == content


async def test_a_file_cut_short_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    content = (await saved(path))[: 3 * 4096]
    path.write_bytes(content)

    assert refusal(path).startswith("is damaged")
    assert path.read_bytes() == content


async def test_a_newer_schema_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    await saved(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1000")
    content = path.read_bytes()

    newest = len(migrations("sqlite"))
    assert (
        refusal(path) == f"has schema 1000, newer than this Antiphon's {newest}; upgrade Antiphon"
    )
    assert path.read_bytes() == content


@pytest.mark.parametrize("schema", [1, 24])
async def test_a_database_of_before_the_first_release_is_refused_unchanged(
    tmp_path: Path, schema: int
) -> None:
    path = tmp_path / "antiphon.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE responses (seq INTEGER PRIMARY KEY)")
        connection.execute(f"PRAGMA application_id = {0x416E7470}")
        connection.execute(f"PRAGMA user_version = {schema}")
    content = path.read_bytes()

    assert refusal(path) == EARLIER_STORE
    with pytest.raises(ConfigError, match=f"{re.escape(EARLIER_STORE)}$"):
        await schema_of(f"sqlite://{path}")
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE responses (text TEXT)")
    content = path.read_bytes()

    assert refusal(path) == "belongs to another program"
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("mark", "reason"),
    [(0x416E7470, EARLIER), (1, "belongs to another program")],
    ids=["from before the first release", "of another program"],
)
def test_a_content_file_that_is_not_ours_is_refused_unchanged(
    tmp_path: Path, mark: int, reason: str
) -> None:
    path = tmp_path / "antiphon.db"
    with closing(sqlite3.connect(blobs_next_to(path))) as connection:
        connection.execute(f"PRAGMA application_id = {mark}")
        connection.execute("CREATE TABLE blob_parts (id)")
    content = blobs_next_to(path).read_bytes()

    with pytest.raises(ConfigError) as refused:
        SqliteStore.open(f"sqlite://{path}")

    assert refused.value.message.startswith(
        f"store: {tmp_path}/antiphon-files.db {reason}. Move it away"
    )
    assert "another database" not in str(refused.value)  # its name follows from that of the store
    assert blobs_next_to(path).read_bytes() == content


async def test_a_damaged_content_file_does_not_keep_the_store_from_opening(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    blobs_next_to(path).write_bytes(b"no database any more " * 1000)
    store = SqliteStore.open(f"sqlite://{path}")

    assert await store.read(responses.load, "", "resp_1") is None
    await store.close()


def test_a_database_in_memory_has_the_newest_schema_and_any_thread_may_use_it() -> None:
    with closing(open_memory()) as connection, ThreadPoolExecutor(1) as threads:
        assert threads.submit(version, connection).result() == len(migrations("sqlite"))


async def test_a_locked_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    await saved(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        assert refusal(path) == "is locked by another program"


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are for their owner."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def mere_user() -> Iterator[None]:
    """Nobody may write everywhere, not even root, while this test runs."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NO_CALLER)
    yield
    os.seteuid(user)


class Waits:
    """The time of this process, which only pauses move; the first of them does something else as
    well.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, first: Callable[[], object] = lambda: None
    ) -> None:
        self.now = 0.0
        self._first = first
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        if not self.now:
            self._first()
        self.now += seconds


def test_a_file_that_is_locked_for_a_moment_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "antiphon.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waits = Waits(monkeypatch, lambda: other.execute("ROLLBACK"))
        writer, reader = open_file(path, 0.05)
    with closing(writer), closing(reader):
        assert version(writer) == len(migrations("sqlite"))
    assert waits.now > 0


def test_a_locked_file_times_out_after_twice_the_time_of_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "antiphon.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waits = Waits(monkeypatch)
        with pytest.raises(ConfigError, match="is locked by another program"):
            open_file(path, 0.05)
    assert waits.now == pytest.approx(2 * 0.05, abs=0.051)
    assert waits.now > 0.05


def test_a_file_system_without_shared_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def without_memory(name: str, **how: Any) -> sqlite3.Connection:
        return connect(f"file:{name}?vfs=unix-dotfile", uri=True, **how)

    monkeypatch.setattr(sqlite3, "connect", without_memory)

    assert "shared memory" in refusal(tmp_path / "a.db")


async def test_a_read_only_file_is_refused_unchanged(shared_folder: Path, mere_user: None) -> None:
    path = shared_folder / "antiphon.db"
    content = await saved(path)
    path.chmod(0o400)

    assert refusal(path) == "is read-only, or its folder is"
    assert path.read_bytes() == content


async def test_a_file_in_a_read_only_folder_is_refused_unchanged(
    shared_folder: Path, mere_user: None
) -> None:
    path = shared_folder / "folder" / "antiphon.db"
    content = await saved(path)
    path.parent.chmod(0o500)

    assert refusal(path) == "is read-only, or its folder is"
    assert path.read_bytes() == content
    path.parent.chmod(0o700)


def test_a_folder_that_cannot_be_created_is_refused(shared_folder: Path, mere_user: None) -> None:
    shared = shared_folder / "closed"
    shared.mkdir(mode=0o500)

    assert refusal(shared / "new" / "antiphon.db") == "cannot be opened: Permission denied"
