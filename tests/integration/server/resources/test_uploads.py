"""`/v1/uploads`: files in parts, by the official SDK and by hand."""

import asyncio
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import openai
import pytest
from msgspec.structs import replace
from openai import OpenAI
from openai.types import Upload
from openai.types.uploads import UploadPart

from antiphon.config import Settings
from antiphon.objects import uploads as objects
from antiphon.storage.operations import files, uploads
from antiphon.storage.records.files import FileQuota, FileUse
from antiphon.upstream.http import HttpBackend
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

T = TypeVar("T")

CONTENT = bytes(range(256)) * 12_000
"""Three MB."""

NEW: dict[str, Any] = {
    "filename": "a.bin",
    "purpose": "user_data",
    "bytes": 6,
    "mime_type": "text/plain",
}


async def run(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def create(server: RunningServer, **value: Any) -> str:
    status, created = await server.post("/uploads", json=NEW | value)
    assert status == 200, created
    return str(created["id"])


async def send(
    server: RunningServer, upload: str, content: bytes, name: str = "data"
) -> tuple[int, dict[str, Any]]:
    form = aiohttp.FormData()
    form.add_field(name, io.BytesIO(content), filename="part")
    return await server.post(f"/uploads/{upload}/parts", data=form)


async def add(server: RunningServer, upload: str, content: bytes) -> str:
    status, created = await send(server, upload, content)
    assert status == 200, created
    return str(created["id"])


async def complete(
    server: RunningServer, upload: str, *parts: str, **value: Any
) -> tuple[int, dict[str, Any]]:
    return await server.post(f"/uploads/{upload}/complete", json={"part_ids": parts, **value})


async def test_the_sdk_uploads_a_file_in_parts(client: OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(CONTENT)

    def story() -> None:
        done = client.uploads.upload_file_chunked(
            file=path,
            mime_type="application/octet-stream",
            purpose="assistants",
            part_size=1_000_000,
            md5=hashlib.md5(CONTENT).hexdigest(),
        )
        Upload.model_validate(done.model_dump(), strict=True)
        assert (done.status, done.object, done.bytes, done.filename) == (
            "completed",
            "upload",
            len(CONTENT),
            "data.bin",
        )
        assert done.expires_at == done.created_at + 3600
        assert done.file is not None
        assert (done.file.bytes, done.file.filename, done.file.purpose) == (
            len(CONTENT),
            "data.bin",
            "assistants",
        )
        assert client.files.content(done.file.id).read() == CONTENT
        assert [one.id for one in client.files.list()] == [done.file.id]

    await run(story)


async def test_the_sdk_does_the_same_asynchronously_and_parts_come_at_once(
    stateful: RunningServer,
) -> None:
    sdk = stateful.sdk
    created = await sdk.uploads.create(
        bytes=len(CONTENT),
        filename="data.bin",
        mime_type="x/y",
        purpose="batch",
        expires_after={"anchor": "created_at", "seconds": 7200},
    )
    assert (created.status, created.file) == ("pending", None)
    pieces = [CONTENT[:1_000_001], CONTENT[1_000_001:1_000_002], CONTENT[1_000_002:]]
    parts = await asyncio.gather(
        *(sdk.uploads.parts.create(created.id, data=piece) for piece in pieces)
    )
    for part in parts:
        UploadPart.model_validate(part.model_dump(), strict=True)
        assert (part.object, part.upload_id) == ("upload.part", created.id)
    done = await sdk.uploads.complete(created.id, part_ids=[part.id for part in parts])
    assert done.file is not None
    assert done.file.expires_at == done.file.created_at + 7200
    assert (await sdk.files.content(done.file.id)).content == CONTENT
    assert await stateful.parts.store.write(files.claim_stale, 10) == [], (
        "the parts are stored still"
    )
    with pytest.raises(openai.BadRequestError, match="already completed"):
        await sdk.uploads.parts.create(created.id, data=b"more")
    other = await sdk.uploads.create(bytes=1, filename="b", mime_type="x/y", purpose="batch")
    assert (await sdk.uploads.cancel(other.id)).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="was cancelled"):
        await sdk.uploads.complete(other.id, part_ids=["part_1"])


async def test_the_order_of_the_request_is_the_order_of_the_file(server: RunningServer) -> None:
    upload = await create(server)
    one = await add(server, upload, b"abc")
    two = await add(server, upload, b"def")
    status, done = await complete(server, upload, two, one)
    assert status == 200
    assert await (await server.sdk.files.content(done["file"]["id"])).aread() == b"defabc"


async def test_a_wrong_sum_leaves_the_upload_pending(stateful: RunningServer) -> None:
    upload = await create(stateful)
    one = await add(stateful, upload, b"abc")
    two = await add(stateful, upload, b"def")
    foreign = await add(stateful, await create(stateful), b"ghi")
    for parts, provided, param in (
        ((one,), {}, "part_ids"),
        ((one, foreign), {}, "part_ids[1]"),
        ((one, one), {}, "part_ids[1]"),
        ((one, two), {"md5": "0" * 32}, "md5"),
        ((one, two), {"md5": "x"}, "md5"),
        ((), {}, "part_ids"),
    ):
        status, body = await complete(stateful, upload, *parts, **provided)
        assert (status, body["error"]["param"]) == (400, param), body
    assert (await stateful.parts.store.read(files.use, "")).files == 2
    status, done = await complete(
        stateful, upload, one, two, md5=hashlib.md5(b"abcdef").hexdigest().upper()
    )
    assert (status, done["status"]) == (200, "completed")


async def test_exactly_one_of_many_completions_of_an_upload_succeeds(
    stateful: RunningServer,
) -> None:
    upload = await create(stateful)
    part = await add(stateful, upload, b"abcdef")
    done = await asyncio.gather(*(complete(stateful, upload, part) for _ in range(5)))
    assert sorted(status for status, _ in done) == [200, 400, 400, 400, 400]
    assert await stateful.parts.store.read(files.use, "") == FileUse(1, 6)


@pytest.mark.wide
async def test_parts_that_are_too_much_are_refused(server: RunningServer) -> None:
    upload = await create(server)
    status, answer = await send(server, upload, b"1234567")
    assert (status, answer["error"]["param"]) == (400, "data")
    await add(server, upload, b"1234")
    status, answer = await send(server, upload, b"567")
    assert (status, answer["error"]["param"]) == (400, "data")
    await add(server, upload, b"56")
    large = await create(server, bytes=100 * 1024 * 1024)
    headers = {"content-type": "multipart/form-data; boundary=b"}
    body = (
        b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n'
        + bytes(64 * 1024 * 1024 + 1)
        + b"\r\n--b--"
    )
    status, answer = await server.post(
        f"/uploads/{large}/parts", data=io.BytesIO(body), headers=headers
    )
    assert (status, answer["error"]["code"]) == (413, "file_too_large")


async def test_an_upload_has_a_limited_number_of_parts(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "MOST_PARTS", 2)
    upload = await create(server)
    parts = [await add(server, upload, content) for content in (b"", b"123456")]
    status, answer = await send(server, upload, b"")

    assert (status, answer["error"]["param"]) == (400, "data")
    assert answer["error"]["message"].startswith("The upload has 2 parts, which is the limit.")
    assert (await complete(server, upload, *parts))[0] == 200


async def test_an_upload_that_has_expired_takes_nothing(stateful: RunningServer) -> None:
    store = stateful.parts.store
    upload = await create(stateful)
    found = await store.read(uploads.load, "", upload)
    assert found is not None
    old = replace(found, id="upload_old", expires_at=found.created_at - 1)
    assert await store.write(uploads.create, old, FileQuota(100, 1000))
    for path, body in (("complete", {"part_ids": ["part_1"]}), ("cancel", {})):
        status, answer = await stateful.post(f"/uploads/{old.id}/{path}", json=body)
        assert (status, answer["error"]["code"]) == (400, "upload_not_pending")
    status, answer = await send(stateful, old.id, b"1")
    assert (status, answer["error"]["code"]) == (400, "upload_not_pending")


async def test_the_limits_hold_for_uploads(backend: ReplayBackend) -> None:
    settings = Settings(max_upload=2000, max_file_bytes=2500, max_files=2)
    async with serve(HttpBackend("r", backend.url, ""), settings=settings) as server:
        status, body = await server.post("/uploads", json=NEW | {"bytes": 2001})
        assert (status, body["error"]["param"]) == (413, "bytes")
        upload = await create(server, bytes=2000)
        status, body = await server.post("/uploads", json=NEW | {"bytes": 501})
        assert (status, body["error"]["code"]) == (429, "storage_quota_exceeded")
        assert (await server.post(f"/uploads/{upload}/cancel"))[0] == 200
        await create(server, bytes=501)


@pytest.mark.parametrize(
    ("provided", "param"),
    [
        ({"filename": None}, "filename"),
        ({"filename": "../"}, "filename"),
        ({"purpose": "none"}, "purpose"),
        ({"bytes": "6"}, "bytes"),
        ({"bytes": -1}, "bytes"),
        ({"mime_type": None}, "mime_type"),
        ({"expires_after": {"anchor": "now", "seconds": 3600}}, "expires_after.anchor"),
        ({"other": 1}, "other"),
    ],
)
async def test_each_mistake_is_named(
    server: RunningServer, provided: dict[str, Any], param: str
) -> None:
    status, body = await server.post("/uploads", json=NEW | provided)
    assert (status, body["error"]["param"]) == (400, param)  # type: ignore[index]
    if provided == {"filename": "../"}:
        assert body["error"]["message"].startswith("Invalid 'filename': ")


async def test_a_part_is_in_the_field_data(server: RunningServer) -> None:
    upload = await create(server)
    status, body = await send(server, upload, b"abc", "file")
    assert (status, body["error"]["code"]) == (400, "unknown_parameter")
    empty = aiohttp.FormData(default_to_multipart=True)
    empty.add_field("data", "", content_type="text/plain")
    assert (await server.post(f"/uploads/{upload}/parts", data=empty))[0] == 200


async def test_the_same_idempotency_key_begins_one_upload(stateful: RunningServer) -> None:
    headers = {"idempotency-key": "k1"}
    first = await stateful.post("/uploads", json=NEW, headers=headers)
    assert await stateful.post("/uploads", json=NEW, headers=headers) == first
    assert (await stateful.parts.store.read(files.use, "")).files == 1


async def test_an_unknown_upload_is_not_found(server: RunningServer) -> None:
    for path in ("parts", "complete", "cancel"):
        body = {"json": {"part_ids": ["part_1"]}} if path != "parts" else {"data": b""}
        status, answer = await server.post(f"/uploads/upload_none/{path}", **body)
        assert (status, answer["error"]["message"]) == (404, "No such Upload object: upload_none")  # type: ignore[index]
