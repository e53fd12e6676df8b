"""A server that is killed in the middle of uploads leaves no half file, and what it had
acknowledged is whole.
"""

import asyncio
import hashlib
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from openai import AsyncOpenAI

from antiphon.ids import now
from antiphon.objects.files import HOLD
from antiphon.storage.operations import files
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.command import serving

HEAD = b'--b\r\ncontent-disposition: form-data; name="file"; filename="half"\r\n\r\n'

MEGABYTE = 1024 * 1024


def parts_in(path: Path) -> int:
    """How many parts of blobs there are."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM blob_parts").fetchone()[0])
        except sqlite3.OperationalError:  # it is being made
            return 0


async def begin(url: str) -> asyncio.StreamWriter:
    """Send half of a file."""
    parts = urlsplit(url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = (
        "POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: "
        "multipart/form-data; boundary=b\r\n"
    )
    writer.write(
        f"{head}content-length: {100 * MEGABYTE}\r\n\r\n".encode() + HEAD + bytes(8 * MEGABYTE)
    )
    await writer.drain()
    return writer


async def test_a_killed_server_leaves_no_half_file_and_keeps_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    second = tmp_path / "a-files.db"
    flags = "--store", f"sqlite://{path}", "--port", "0"
    content = bytes(range(256)) * 20_000
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="k") as sdk,
    ):
        stored = await sdk.files.create(file=("kept", content), purpose="user_data")
        upload = await sdk.uploads.create(
            bytes=8, filename="parts", mime_type="x/y", purpose="user_data"
        )
        part = await sdk.uploads.parts.create(upload.id, data=b"part")
        writer = await begin(server.url)
        async with asyncio.timeout(30):
            while parts_in(second) < 9:
                await asyncio.sleep(0.01)
        await server.stop(signal.SIGKILL)
        writer.close()
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="k") as sdk,
    ):
        assert [file.id async for file in sdk.files.list()] == [stored.id]
        found = (await sdk.files.content(stored.id)).content
        assert hashlib.sha256(found).digest() == hashlib.sha256(content).digest()
        other = await sdk.uploads.parts.create(upload.id, data=b"more")
        done = await sdk.uploads.complete(upload.id, part_ids=[part.id, other.id])
        assert done.file is not None
        assert (await sdk.files.content(done.file.id)).content == b"partmore"
        await server.stop(signal.SIGTERM)
    store = SqliteStore.open(f"sqlite://{path}", now=lambda: now() + HOLD + 60)
    stale = await store.write(files.claim_stale, 10)
    assert len(stale) == 1, "the half file is not known as stale"
    await store.delete_blob_parts(stale[0])
    await store.write(files.forget, stale)
    assert (await store.inspect())["files"] == 2
    assert parts_in(second) == 5 + 1
    await store.close()


@pytest.mark.parametrize("place", ["", "content"])
async def test_memory_stays_flat_however_large_the_file_is(tmp_path: Path, place: str) -> None:
    variables = {"ANTIPHON_FILE_STORAGE": f"{tmp_path}/{place}"} if place else {}
    flags = "--store", f"sqlite://{tmp_path}/a.db", "--port", "0"
    async with (
        serving(tmp_path, *flags, **variables) as server,
        AsyncOpenAI(base_url=server.url, api_key="k") as sdk,
    ):
        await sdk.files.create(file=("small", b"x"), purpose="user_data")
        before = peak(server.process.pid)
        created = await sdk.files.create(file=("large", bytes(64 * MEGABYTE)), purpose="user_data")
        assert created.bytes == 64 * MEGABYTE
        assert peak(server.process.pid) - before < 32 * MEGABYTE
        await server.stop(signal.SIGTERM)


def peak(pid: int) -> int:
    """The most bytes that the process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
