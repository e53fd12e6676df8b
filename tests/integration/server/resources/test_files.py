"""`/v1/files`: the official SDK uploads, lists, reads and deletes; and what a bad request gets."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import openai
import pytest
from openai import OpenAI
from openai.types import FileObject

from antiphon.config import Settings
from antiphon.sharing.memory import Memory
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.files import BLOB_PART
from antiphon.storage.sqlite.file import blobs_next_to
from antiphon.upstream.http import HttpBackend
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.small_bucket import small_bucket
from tests.support.waiting import eventually, until

T = TypeVar("T")

TEXT = b"one\ntwo\n"


async def run(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


def form(content: bytes = TEXT, filename: str | None = "a.txt", **fields: str) -> aiohttp.FormData:
    """A form as a browser sends it, with the file first."""
    created = aiohttp.FormData()
    created.add_field("file", BytesIO(content), filename=filename or "", content_type="text/plain")
    for name, value in ({"purpose": "user_data"} | fields).items():
        created.add_field(name.replace("__", "[") + "]" * ("__" in name), value)
    return created


async def upload(
    server: RunningServer, content: bytes = TEXT, filename: str = "a.txt", **fields: str
) -> dict[str, Any]:
    status, created = await server.post("/files", data=form(content, filename, **fields))
    assert status == 200, created
    return created


async def refused(server: RunningServer, status: int, **kwargs: Any) -> dict[str, Any]:
    found, body = await server.post("/files", **kwargs)
    assert found == status, body
    error: dict[str, Any] = body["error"]  # type: ignore[assignment]
    return error


@pytest.mark.wide
async def test_the_sdk_uploads_lists_retrieves_reads_and_deletes(client: OpenAI) -> None:
    def story() -> None:
        created = client.files.create(file=("notes é.txt", TEXT), purpose="assistants")
        FileObject.model_validate(created.model_dump(), strict=True)
        assert created.id.startswith("file-")
        assert len(created.id) == len("file-") + 22
        assert (created.object, created.bytes, created.filename, created.purpose) == (
            "file",
            8,
            "notes é.txt",
            "assistants",
        )
        assert (created.status, created.expires_at, created.status_details) == (
            "processed",
            None,
            None,
        )
        assert abs(created.created_at - time.time()) < 60
        assert client.files.retrieve(created.id) == created
        assert client.files.wait_for_processing(created.id) == created
        assert client.files.content(created.id).read() == TEXT
        other = client.files.create(file=b"raw", purpose="batch")
        assert other.expires_at == other.created_at + 30 * 86_400
        assert [one.id for one in client.files.list()] == [other.id, created.id]
        assert [one.id for one in client.files.list(limit=1)] == [other.id, created.id]
        assert [one.id for one in client.files.list(order="asc", purpose="batch")] == [other.id]
        deleted = client.files.delete(created.id)
        assert (deleted.id, deleted.object, deleted.deleted) == (created.id, "file", True)
        with pytest.raises(openai.NotFoundError, match="No such File object: file-"):
            client.files.retrieve(created.id)

    await run(story)


async def test_the_sdk_does_the_same_asynchronously(
    stateful: RunningServer, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" * 700_000)
    sdk = stateful.sdk
    created = await sdk.files.create(
        file=path, purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert (created.bytes, created.filename, created.expires_at) == (
        2_800_000,
        "data.csv",
        created.created_at + 3600,
    )
    content = await sdk.files.content(created.id)
    assert content.content == path.read_bytes()
    assert [one.id async for one in sdk.files.list()] == [created.id]
    assert (await sdk.files.delete(created.id)).deleted


@pytest.mark.parametrize("size", [0, 1, BLOB_PART - 1, BLOB_PART, BLOB_PART + 1, 3 * BLOB_PART])
async def test_content_of_any_size_comes_back_byte_for_byte(
    server: RunningServer, size: int
) -> None:
    content = (hashlib.sha256(b"%d" % size).digest() * (size // 32 + 1))[:size]
    created = await upload(server, content)
    assert created["bytes"] == size
    async with server.http.get(f"{server.url}/files/{created['id']}/content") as reply:
        assert await reply.read() == content
        assert reply.headers["content-length"] == str(size)


@pytest.mark.parametrize(
    ("requested", "status", "first", "end"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=2-5", 206, 2, 6),
        (f"bytes={BLOB_PART - 3}-{BLOB_PART + 3}", 206, BLOB_PART - 3, BLOB_PART + 4),
        (f"bytes={BLOB_PART}-", 206, BLOB_PART, BLOB_PART + 9),
        ("bytes=-4", 206, BLOB_PART + 5, BLOB_PART + 9),
        (f"bytes=-{BLOB_PART * 9}", 206, 0, BLOB_PART + 9),
        (f"bytes=7-{BLOB_PART * 9}", 206, 7, BLOB_PART + 9),
        ("bytes=5-2", 200, 0, BLOB_PART + 9),
        ("bytes=0-1,4-5", 200, 0, BLOB_PART + 9),
        ("bytes=-", 200, 0, BLOB_PART + 9),
        ("lines=1-2", 200, 0, BLOB_PART + 9),
    ],
)
async def test_a_range_of_the_content_is_sent(
    server: RunningServer, requested: str, status: int, first: int, end: int
) -> None:
    content = bytes(range(251)) * (BLOB_PART // 251 + 2)
    content = content[: BLOB_PART + 9]
    created = await upload(server, content)
    async with server.http.get(
        f"{server.url}/files/{created['id']}/content", headers={"range": requested}
    ) as reply:
        assert reply.status == status
        assert await reply.read() == content[first:end]
        reported = f"bytes {first}-{end - 1}/{len(content)}" if status == 206 else None
        assert reply.headers.get("content-range") == reported


async def test_a_range_behind_the_end_is_refused(server: RunningServer) -> None:
    created = await upload(server)
    for requested in ("bytes=8-", "bytes=-0"):
        async with server.http.get(
            f"{server.url}/files/{created['id']}/content", headers={"range": requested}
        ) as reply:
            assert (reply.status, reply.headers["content-range"]) == (416, "bytes */8")
            assert (await reply.json())["error"]["code"] == "invalid_range"


async def test_a_browser_saves_content_and_never_shows_it(server: RunningServer) -> None:
    created = (
        await server.sdk.files.create(file=("x/../ü, 1.html", b"<script>"), purpose="vision")
    ).model_dump()
    assert created["filename"] == "ü, 1.html"
    async with server.http.get(f"{server.url}/files/{created['id']}/content") as reply:
        assert reply.headers["content-type"] == "application/octet-stream"
        assert reply.headers["x-content-type-options"] == "nosniff"
        displayed = reply.headers["content-disposition"]
        assert (
            displayed == "attachment; filename=\"_, 1.html\"; filename*=UTF-8''%C3%BC%2C%201.html"
        )


async def test_a_file_that_is_sent_last_or_in_tiny_pieces_is_the_same(
    server: RunningServer,
) -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; '
        b'filename="a"\r\n\r\n12\r\n--\r\n--b--\r\n'
    )

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 3):
            yield body[start : start + 3]

    headers = {"content-type": "multipart/form-data; boundary=b"}
    for data in (body, pieces()):
        status, created = await server.post("/files", data=data, headers=headers)
        assert (status, created["bytes"], created["purpose"]) == (200, 6, "vision")


async def test_each_mistake_of_a_form_is_named(server: RunningServer) -> None:
    for kwargs, status, param, code in (
        ({"data": form(purpose="none")}, 400, "purpose", "invalid_value"),
        ({"data": form(purpose="batch_output")}, 400, "purpose", "invalid_value"),
        ({"data": form(other="1")}, 400, "other", "unknown_parameter"),
        ({"data": form(filename="")}, 400, "file", "invalid_value"),
        ({"data": form(filename="..")}, 400, "file", "invalid_value"),
        (
            {"data": form(expires_after__seconds="1")},
            400,
            "expires_after.anchor",
            "missing_required_parameter",
        ),
        (
            {"data": form(expires_after__anchor="created_at", expires_after__seconds="60")},
            *(400, "expires_after.seconds", "integer_below_min_value"),
        ),
        (
            {"data": form(expires_after__anchor="created_at", expires_after__seconds="2592001")},
            *(400, "expires_after.seconds", "integer_above_max_value"),
        ),
        (
            {"data": form(expires_after__anchor="created_at", expires_after__seconds="x")},
            *(400, "expires_after.seconds", "invalid_type"),
        ),
        ({"json": {}}, 415, None, "unsupported_media_type"),
        (
            {"data": b"--b", "headers": {"content-type": "multipart/form-data; boundary=b"}},
            400,
            None,
            None,
        ),
        (
            {"data": b"x", "headers": {"content-type": "multipart/form-data"}},
            400,
            None,
            "invalid_multipart_form",
        ),
    ):
        error = await refused(server, status, **kwargs)
        assert (error["param"], error["type"]) == (param, "invalid_request_error"), error
        assert code is None or error["code"] == code, error
    only_fields = aiohttp.FormData({"purpose": "vision"}, default_to_multipart=True)
    error = await refused(server, 400, data=only_fields)
    assert (error["param"], error["code"]) == ("file", "missing_required_parameter")
    twice = form()
    twice.add_field("file", b"2", filename="b.txt")
    assert (await refused(server, 400, data=twice))["param"] == "file"
    status, listed = await server.get("/files")
    assert (status, listed["data"]) == (200, []), "what was refused is stored"


async def test_a_compressed_form_is_refused(server: RunningServer) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b", "content-encoding": "gzip"}
    error = await refused(server, 415, data=b"--b", headers=headers)
    assert error["code"] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=10001", "limit"),
        ("order=up", "order"),
        ("after=file-none", "after"),
    ],
)
async def test_a_list_names_what_is_wrong_with_its_query(
    server: RunningServer, query: str, param: str
) -> None:
    status, body = await server.get(f"/files?{query}")
    assert (status, body["error"]["param"]) == (400, param)  # type: ignore[index]


async def test_lists_are_in_pages(server: RunningServer) -> None:
    created = [
        (await upload(server, b"%d" % n, purpose="vision" if n else "evals"))["id"]
        for n in range(3)
    ]
    for query, ids, has_more in (
        ("", created[::-1], False),
        ("?limit=2", [created[2], created[1]], True),
        (f"?limit=2&after={created[1]}", [created[0]], False),
        (f"?order=asc&after={created[0]}", created[1:], False),
        ("?purpose=evals", created[:1], False),
        ("?purpose=assistants", [], False),
    ):
        status, page = await server.get(f"/files{query}")
        assert status == 200
        assert [one["id"] for one in page["data"]] == ids, query  # type: ignore[attr-defined]
        first, last = (ids[0], ids[-1]) if ids else (None, None)
        assert (page["object"], page["first_id"], page["last_id"]) == ("list", first, last)
        assert page["has_more"] is has_more


async def test_an_unknown_file_is_not_found(server: RunningServer) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
        async with server.http.request(method, f"{server.url}/files/file-none{path}") as reply:
            error = (await reply.json())["error"]
            assert (reply.status, error["message"]) == (404, "No such File object: file-none")
            assert (error["param"], error["code"]) == ("id", None)


@pytest.mark.wide
async def test_files_are_larger_than_bodies_may_be_and_take_no_memory(
    backend: ReplayBackend,
) -> None:
    """The server holds 8 MiB for clients, and the file has 24."""
    content = b"0123456789abcdef" * (24 * 65_536)
    async with serve(HttpBackend("r", backend.url, ""), memory=8 * 1024 * 1024) as server:
        created = await upload(server, content)
        async with server.http.get(f"{server.url}/files/{created['id']}/content") as reply:
            assert hashlib.sha256(await reply.read()).digest() == hashlib.sha256(content).digest()
        assert server.parts.run.history.memory.left == server.parts.run.history.memory.size


async def test_the_limits_are_settings(backend: ReplayBackend) -> None:
    settings = Settings(max_file=2000, max_files=2, max_file_bytes=2500)
    async with serve(HttpBackend("r", backend.url, ""), settings=settings) as server:
        error = await refused(server, 413, data=form(b"x" * 2001))
        assert (error["param"], error["code"]) == ("file", "file_too_large")
        await upload(server, b"x" * 2000)
        error = await refused(server, 429, data=form(b"y" * 501))
        assert (error["type"], error["code"]) == ("insufficient_quota", "storage_quota_exceeded")
        created = await upload(server, b"y" * 499)
        error = await refused(server, 429, data=form(b""))
        assert error["code"] == "storage_quota_exceeded"
        assert "2 files with 2499 bytes are stored" in error["message"]
        await server.sdk.files.delete(str(created["id"]))
        await upload(server, b"y" * 500)


async def test_files_that_come_at_once_share_the_quota_before_they_are_stored(
    backend: ReplayBackend, tmp_path: Path
) -> None:
    settings = Settings(max_file_bytes=4 * BLOB_PART, file_storage=f"{tmp_path}/content")
    goes_on = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n'
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + bytes(
            3 * BLOB_PART
        )
        await goes_on.wait()
        yield b"\r\n--b--\r\n"

    async with serve(HttpBackend("r", backend.url, ""), settings=settings) as server:
        headers = {"content-type": "multipart/form-data; boundary=b"}
        first = asyncio.create_task(server.post("/files", data=slow(), headers=headers))
        await until(lambda: written(tmp_path) >= 2 * BLOB_PART)
        error = await refused(server, 429, data=form(bytes(2 * BLOB_PART)))
        assert error["code"] == "storage_quota_exceeded"
        goes_on.set()
        assert (await first)[0] == 200
        await upload(server, bytes(BLOB_PART))


def written(folder: Path) -> int:
    """How many bytes of content there are."""
    return sum(path.stat().st_size for path in folder.rglob("dir_*"))


async def test_a_body_that_announces_too_much_is_refused_before_it_is_read(
    backend: ReplayBackend,
) -> None:
    async with serve(HttpBackend("r", backend.url, ""), settings=Settings(max_file=2000)) as server:
        headers = {"content-type": "multipart/form-data; boundary=b", "content-length": str(2**40)}
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(server.url.split(":")[2].split("/")[0])
        )
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\n{head}\r\n".encode())
        async with asyncio.timeout(30):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413")
        writer.close()


async def test_all_that_a_tenant_stores_counts_with_its_files(backend: ReplayBackend) -> None:
    settings = Settings(max_stored_bytes=1000)
    async with serve(HttpBackend("r", backend.url, ""), settings=settings) as server:
        await upload(server, b"x" * 900)
        error = await refused(server, 429, data=form(b"y" * 101))
        assert "900 bytes are stored, and 1000 are allowed" in error["message"]


async def test_the_same_idempotency_key_makes_one_file(stateful: RunningServer) -> None:
    headers = {"idempotency-key": "k1"}
    first = await stateful.post("/files", data=form(), headers=headers)
    again = await stateful.post("/files", data=form(), headers=headers)
    assert first == again
    assert first[0] == 200
    status, body = await stateful.post("/files", data=form(b"other"), headers=headers)
    assert (status, body["error"]["code"]) == (422, "idempotency_key_reused")  # type: ignore[index]
    _, listed = await stateful.get("/files")
    assert len(listed["data"]) == 1  # type: ignore[arg-type]


async def test_the_same_content_is_stored_once_and_deleted_with_its_last_file(
    stateful: RunningServer,
) -> None:
    store = stateful.parts.store
    content = b"z" * (BLOB_PART + 1)
    first = await upload(stateful, content)
    second = await upload(stateful, content, "b.txt")
    files = [await store.read(stored_files.load, "", str(one["id"])) for one in (first, second)]
    blobs = {file.blob for file in files if file}
    assert len(blobs) == 1
    (blob,) = blobs
    for one in (first, second):
        assert await store.blob_part(blob, 1) == b"z"
        async with stateful.http.delete(f"{stateful.url}/files/{one['id']}") as reply:
            assert reply.status == 200
    assert await store.blob_part(blob, 0) is None
    assert (await store.inspect())["files"] == 0


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(stateful: RunningServer) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + b"x" * (
            3 * BLOB_PART
        )
        raise ConnectionResetError

    headers = {"content-type": "multipart/form-data; boundary=b"}
    with pytest.raises((aiohttp.ClientError, ConnectionResetError)):
        await stateful.post("/files", data=half(), headers=headers)
    store = stateful.parts.store
    await eventually(
        lambda: store.write(stored_files.claim_stale, 9),
        lambda one: not one and stateful.parts.run.history.memory.left >= Memory().size,
    )
    assert (await store.read(stored_files.use, "")).files == 0


async def test_content_is_in_a_file_of_its_own(tmp_path: Path, backend: ReplayBackend) -> None:
    path = tmp_path / "antiphon.db"
    async with serve(HttpBackend("r", backend.url, ""), store=f"sqlite://{path}") as server:
        assert not blobs_next_to(path).exists()
        await upload(server, b"x" * 3 * BLOB_PART)
        assert blobs_next_to(path) == tmp_path / "antiphon-files.db"
        assert blobs_next_to(path).stat().st_mode & 0o777 == 0o600
        assert path.stat().st_size < BLOB_PART


async def test_replicas_share_files_and_uploads(backend: ReplayBackend, store_url: str) -> None:
    async with (
        serve(HttpBackend("r", backend.url, ""), store=store_url) as one,
        serve(HttpBackend("r", backend.url, ""), store=store_url) as two,
    ):
        content = bytes(range(256)) * 8000
        created = await upload(one, content)
        assert (await two.sdk.files.content(created["id"])).content == content
        begun = await one.sdk.uploads.create(
            bytes=4, filename="a", mime_type="x/y", purpose="vision"
        )
        parts = [await each.sdk.uploads.parts.create(begun.id, data=b"12") for each in (one, two)]
        done = await two.sdk.uploads.complete(begun.id, part_ids=[part.id for part in parts])
        assert done.file is not None
        assert (await one.sdk.files.content(done.file.id)).content == b"1212"
        await two.sdk.files.delete(created["id"])
        with pytest.raises(openai.NotFoundError):
            await one.sdk.files.content(created["id"])


async def test_content_can_be_in_a_bucket(
    backend: ReplayBackend, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "small")
    async with small_bucket() as bucket:
        settings = Settings(
            file_storage="s3://bucket/f",
            file_storage_endpoint=bucket.url,
            file_storage_region="eu-central-1",
        )
        async with serve(
            HttpBackend("r", backend.url, ""), store=store_url, settings=settings
        ) as server:
            created = await upload(server, b"x" * (6 * 1024 * 1024))
            assert [len(content) for content in bucket.objects.values()] == [6 * 1024 * 1024]
            async with server.http.get(
                f"{server.url}/files/{created['id']}/content", headers={"range": "bytes=-3"}
            ) as reply:
                assert (reply.status, await reply.read()) == (206, b"xxx")
            bucket.is_broken = True
            status, body = await server.post("/files", data=form(b"y"))
            assert status == 503
            assert body["error"]["message"].endswith("file_storage failed: PermissionDeniedError.")
            async with server.http.get(f"{server.url}/files/{created['id']}/content") as reply:
                assert reply.status == 503
            bucket.is_broken = False
            await server.sdk.files.delete(created["id"])
            assert bucket.objects == {}
