"""Content in the store, in a directory and in a bucket: each place keeps the same promises."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from io import FileIO
from pathlib import Path

import pytest

from antiphon.build.files import blobs_of
from antiphon.config import Settings
from antiphon.errors import StoreError
from antiphon.storage.blobs import directory
from antiphon.storage.blobs.base import BlobStorage
from antiphon.storage.blobs.bucket import CHUNK
from antiphon.storage.blobs.turns import part_turns
from antiphon.storage.open import open_store
from antiphon.storage.records.files import BLOB_PART
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.small_bucket import SmallBucket, small_bucket

SIZES = (0, 1, BLOB_PART - 1, BLOB_PART, BLOB_PART + 1, 3 * BLOB_PART + 5)


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SmallBucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKSMALL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    async with small_bucket() as one:
        yield one


@pytest.fixture(params=["store", "directory", "bucket"])
async def blobs(
    request: pytest.FixtureRequest, tmp_path: Path, bucket: SmallBucket
) -> AsyncIterator[BlobStorage]:
    settings = {
        "store": Settings(),
        "directory": Settings(file_storage=f"{tmp_path}/files"),
        "bucket": Settings(file_storage="s3://bucket/a/b", file_storage_endpoint=bucket.url),
    }[request.param]
    store = await open_store(f"sqlite://{tmp_path}/antiphon.db")
    yield blobs_of(store, settings, part_turns())
    await store.close()


async def pieces(content: bytes, size: int = 60_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(blobs: BlobStorage, blob: str, start: int, end: int) -> bytes:
    parts = [part async for part in blobs.read(blob, start, end, "t")]
    assert all(0 < len(part) <= BLOB_PART for part in parts)
    return b"".join(parts)


@pytest.mark.parametrize("size", SIZES)
async def test_content_comes_back_byte_for_byte(blobs: BlobStorage, size: int) -> None:
    content = os.urandom(size)
    blob = blobs.new_name()
    await blobs.write(blob, pieces(content), "t")
    assert await read(blobs, blob, 0, size) == content


async def test_any_range_of_it_is_read(blobs: BlobStorage) -> None:
    content = os.urandom(6 * BLOB_PART)
    blob = blobs.new_name()
    await blobs.write(blob, pieces(content), "t")
    for start, end in (
        (0, 1),
        (BLOB_PART - 1, BLOB_PART + 1),
        (BLOB_PART, 2 * BLOB_PART),
        (5, 5 * BLOB_PART + 7),
        (6 * BLOB_PART - 1, 6 * BLOB_PART),
        (9, 9),
    ):
        assert await read(blobs, blob, start, end) == content[start:end]


async def test_deleted_content_is_removed_and_deleting_again_does_nothing(
    blobs: BlobStorage,
) -> None:
    first = blobs.new_name()
    second = blobs.new_name()
    for blob in (first, second):
        await blobs.write(blob, pieces(b"x" * BLOB_PART), "t")
    for _ in range(2):
        await blobs.delete(first)
    with pytest.raises(StoreError):
        await read(blobs, first, 0, 1)
    assert await read(blobs, second, 0, 1) == b"x"
    await blobs.delete(blobs.new_name())


async def test_what_fails_in_the_middle_is_not_there_and_can_be_deleted(blobs: BlobStorage) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * (2 * CHUNK + 1)
        raise ConnectionResetError("the client is gone")

    blob = blobs.new_name()
    with pytest.raises(ConnectionResetError, match="the client is gone"):
        await blobs.write(blob, broken(), "t")
    await blobs.delete(blob)
    with pytest.raises(StoreError):
        await read(blobs, blob, 0, 1)


def files_of(folder: Path) -> list[Path]:
    return list(folder.rglob("dir_*"))


async def test_a_directory_has_whole_files_for_their_owner_alone(tmp_path: Path) -> None:
    store = SqliteStore.open("sqlite://")
    blobs = blobs_of(store, Settings(file_storage=f"{tmp_path}/files"), part_turns())
    blob = blobs.new_name()

    async def content() -> AsyncIterator[bytes]:
        yield b"x" * (2 * BLOB_PART)
        assert [path.name for path in files_of(tmp_path)] == [f"{blob}.part"]
        yield b"y"

    await blobs.write(blob, content(), "t")
    (path,) = files_of(tmp_path)
    assert (path.name, path.stat().st_size) == (blob, 2 * BLOB_PART + 1)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.parent.name == blob[-2:]
    await blobs.delete(blob)
    assert files_of(tmp_path) == []
    await store.close()


async def test_a_directory_that_cannot_be_written_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("no directory")
    store = SqliteStore.open("sqlite://")
    blobs = blobs_of(store, Settings(file_storage=f"{tmp_path}/files"), part_turns())
    with pytest.raises(StoreError, match="file_storage failed: not a directory"):
        await blobs.write(blobs.new_name(), pieces(b"x"), "t")
    await store.close()


async def test_a_bucket_has_objects_below_the_prefix_and_no_large_parts(
    bucket: SmallBucket,
) -> None:
    store = SqliteStore.open("sqlite://")
    settings = Settings(file_storage="s3://bucket/a/b/", file_storage_endpoint=bucket.url)
    blobs = blobs_of(store, settings, part_turns())
    blob = blobs.new_name()
    content = os.urandom(2 * CHUNK + 9)
    await blobs.write(blob, pieces(content), "t")
    assert bucket.objects == {f"a/b/{blob}": content}
    assert bucket.largest_part <= CHUNK
    assert bucket.signed_by == {"AKSMALL"}
    assert bucket.uploads == {}
    bucket.is_broken = True
    for refused in (
        read(blobs, blob, 0, 1),
        blobs.delete(blob),
        blobs.write(blob, pieces(b"x"), "t"),
    ):
        with pytest.raises(StoreError, match="The bucket of file_storage failed") as error:
            await refused
        assert "127.0.0.1" not in str(error.value)
        assert "secret" not in str(error.value)
    await store.close()


async def test_an_upload_to_a_bucket_that_fails_is_aborted(bucket: SmallBucket) -> None:
    store = SqliteStore.open("sqlite://")
    blobs = blobs_of(
        store, Settings(file_storage="s3://bucket", file_storage_endpoint=bucket.url), part_turns()
    )

    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * (3 * CHUNK)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await blobs.write(blobs.new_name(), broken(), "t")
    assert (bucket.objects, bucket.uploads) == ({}, {})
    await store.close()


async def test_files_of_an_earlier_place_can_still_be_read(tmp_path: Path) -> None:
    store = SqliteStore.open("sqlite://")
    first = blobs_of(store, Settings(), part_turns())
    second = blobs_of(store, Settings(file_storage=f"{tmp_path}/files"), part_turns())
    in_rows = first.new_name()
    in_directory = second.new_name()
    await first.write(in_rows, pieces(b"rows"), "t")
    await second.write(in_directory, pieces(b"directory"), "t")
    assert await read(second, in_rows, 0, 4) == b"rows"
    bucket = blobs_of(
        store,
        Settings(file_storage="s3://bucket", file_storage_endpoint="http://127.0.0.1:9"),
        part_turns(),
    )
    assert await read(bucket, in_rows, 0, 4) == b"rows"
    for act in (read(bucket, in_directory, 0, 4), bucket.delete(in_directory)):
        with pytest.raises(StoreError, match="set file_storage to its value"):
            await act
    await store.close()


async def test_a_cancelled_upload_to_a_directory_ends_only_after_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = threading.Event()
    may_write = threading.Event()
    written = []

    def slow(file: FileIO, part: bytes, is_last: bool) -> None:
        writing.set()
        may_write.wait(10)
        written.append(file.write(part))  # to another file, if this one was closed meanwhile

    monkeypatch.setattr(directory, "write_part", slow)
    blobs = directory.DirectoryBlobs(tmp_path, part_turns())
    upload = asyncio.create_task(blobs.write(blobs.new_name(), pieces(b"content"), "t"))
    assert await asyncio.to_thread(writing.wait, 10)
    upload.cancel()
    asyncio.get_running_loop().call_later(0.01, may_write.set)
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert written == [7]
