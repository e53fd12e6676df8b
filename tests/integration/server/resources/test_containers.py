"""`/v1/containers` and the files in them, with the official SDK, on both stores; and what a bad
request gets.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace as replace_fields
from io import BytesIO
from typing import Any, TypeVar

import aiohttp
import openai
import pytest
from msgspec.structs import replace
from openai import OpenAI
from openai.types import ContainerCreateResponse, ContainerListResponse, ContainerRetrieveResponse
from openai.types.containers import FileCreateResponse, FileListResponse, FileRetrieveResponse

from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers, sizes
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.files import BLOB_PART
from tests.store.containers import AMPLE, expired_container
from tests.support.server import RunningServer

T = TypeVar("T")

CSV = b"name,value\na,40\nb,6\n"

NO_CALLER = "cntr_" + 48 * "0"


async def run(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def created(server: RunningServer, **fields: Any) -> str:
    return (await server.sdk.containers.create(**{"name": "work", **fields})).id


async def refused(
    server: RunningServer, status: int, path: str = "/containers", **kwargs: Any
) -> dict[str, Any]:
    found, body = await server.post(path, **kwargs)
    assert found == status, body
    error: dict[str, Any] = body["error"]  # type: ignore[assignment]
    return error


def form(
    content: bytes = CSV, filename: str | None = "data.csv", name: str = "file"
) -> aiohttp.FormData:
    created = aiohttp.FormData()
    created.add_field(name, BytesIO(content), filename=filename or "", content_type="text/csv")
    return created


async def expired(server: RunningServer, tenant: str = "") -> str:
    """Store a container that has expired."""
    container = expired_container(tenant)
    assert await server.parts.store.write(containers.put, container, [], AMPLE)
    return container.id


async def test_the_sdk_creates_lists_retrieves_and_deletes_containers(client: OpenAI) -> None:
    def story() -> None:
        one = client.containers.create(name="one")
        ContainerCreateResponse.model_validate(one.model_dump(), strict=True)
        assert re.fullmatch(r"cntr_[0-9a-f]{48}", one.id)
        assert (one.object, one.name, one.status, one.memory_limit) == (
            "container",
            "one",
            "running",
            "1g",
        )
        assert one.expires_after is not None
        assert (one.expires_after.anchor, one.expires_after.minutes) == ("last_active_at", 20)
        assert one.network_policy is None
        assert abs(one.created_at - time.time()) < 60
        two = client.containers.create(
            name="two",
            memory_limit="4g",
            expires_after={"anchor": "last_active_at", "minutes": 5},
            network_policy={"type": "disabled"},
        )
        assert (two.memory_limit, two.network_policy and two.network_policy.type) == (
            "4g",
            "disabled",
        )
        found = client.containers.retrieve(two.id)
        ContainerRetrieveResponse.model_validate(found.model_dump(), strict=True)
        assert found.model_dump() == two.model_dump()
        assert [each.id for each in client.containers.list()] == [two.id, one.id]
        assert [each.id for each in client.containers.list(limit=1)] == [two.id, one.id]
        assert [each.id for each in client.containers.list(order="asc", after=one.id)] == [two.id]
        (named,) = client.containers.list(name="one")
        ContainerListResponse.model_validate(named.model_dump(), strict=True)
        assert named.model_dump() == one.model_dump()
        client.containers.delete(one.id)
        with pytest.raises(openai.NotFoundError, match="Container not found"):
            client.containers.retrieve(one.id)

    await run(story)


async def test_the_sdk_uploads_lists_reads_and_deletes_files(client: OpenAI) -> None:
    def story() -> None:
        container = client.containers.create(name="one").id
        files = client.containers.files
        one = files.create(container, file=("übersicht 1.csv", CSV))
        FileCreateResponse.model_validate(one.model_dump(), strict=True)
        assert (one.object, one.bytes, one.container_id, one.source) == (
            "container.file",
            20,
            container,
            "user",
        )
        assert one.id.startswith("cfile_")
        assert re.fullmatch(r"/mnt/data/[0-9a-f]{32}-übersicht 1\.csv", one.path)
        found = files.retrieve(one.id, container_id=container)
        FileRetrieveResponse.model_validate(found.model_dump(), strict=True)
        assert found.model_dump() == one.model_dump()
        assert files.content.retrieve(one.id, container_id=container).read() == CSV
        two = files.create(container, file=b"raw")
        assert [each.id for each in files.list(container)] == [two.id, one.id]
        assert [each.id for each in files.list(container, limit=1, order="asc")] == [one.id, two.id]
        (listed,) = files.list(container, after=two.id)
        FileListResponse.model_validate(listed.model_dump(), strict=True)
        assert listed.model_dump() == one.model_dump()
        files.delete(one.id, container_id=container)
        with pytest.raises(openai.NotFoundError, match=f"No file found with id '{one.id}'"):
            files.retrieve(one.id, container_id=container)
        with pytest.raises(openai.NotFoundError):
            files.content.retrieve(one.id, container_id=container)

    await run(story)


async def test_the_sdk_does_the_same_asynchronously(stateful: RunningServer) -> None:
    container = await created(stateful)
    content = os.urandom(3 * BLOB_PART + 5)
    files = stateful.sdk.containers.files
    one = await files.create(container, file=("a.bin", content))
    assert (await files.content.retrieve(one.id, container_id=container)).content == content
    assert [each.id async for each in files.list(container)] == [one.id]
    await stateful.sdk.containers.delete(container)
    assert [each.id async for each in stateful.sdk.containers.list()] == []


async def test_deletions_report_what_was_deleted(server: RunningServer) -> None:
    container = await created(server)
    file = await server.sdk.containers.files.create(container, file=("a.csv", CSV))
    for path, kind in ((f"/files/{file.id}", "container.file.deleted"), ("", "container.deleted")):
        async with server.http.delete(f"{server.url}/containers/{container}{path}") as reply:
            assert await reply.json() == {
                "id": file.id if path else container,
                "object": kind,
                "deleted": True,
            }


async def test_files_are_copied_once_and_outlive_the_original(stateful: RunningServer) -> None:
    sdk = stateful.sdk
    file = await sdk.files.create(file=("data.csv", CSV), purpose="user_data")
    container = await created(stateful, file_ids=[file.id, file.id])
    (copy,) = (await sdk.containers.files.list(container)).data
    assert copy.path == f"/mnt/data/{file.id}-data.csv"
    again = await sdk.containers.files.create(container, file_id=file.id)
    assert (again.id, again.path, again.source) == (copy.id, copy.path, "user")
    other = await created(stateful)
    twin = await sdk.containers.files.create(other, file_id=file.id)
    await sdk.files.delete(file.id)
    for owner, one in ((container, copy), (other, twin)):
        assert (
            await sdk.containers.files.content.retrieve(one.id, container_id=owner)
        ).content == CSV
    with pytest.raises(openai.NotFoundError, match=f"No such File object: {file.id}"):
        await sdk.containers.files.create(container, file_id=file.id)


async def test_content_is_deleted_with_its_last_file(stateful: RunningServer) -> None:
    sdk = stateful.sdk
    store = stateful.parts.store
    file = await sdk.files.create(file=("data.csv", CSV), purpose="user_data")
    found = await store.read(stored_files.load, "", file.id)
    assert found is not None
    container = await created(stateful, file_ids=[file.id])
    assert await store.read(sizes.stored_bytes, "") == 2 * len(CSV)
    await sdk.files.delete(file.id)
    assert await store.blob_part(found.blob, 0) is not None
    await sdk.containers.delete(container)
    assert await store.blob_part(found.blob, 0) is None
    assert await store.read(sizes.stored_bytes, "") == 0


@pytest.mark.parametrize(
    ("wanted", "status", "start", "end"), [("bytes=2-5", 206, 2, 6), ("bytes=-4", 206, 16, 20)]
)
async def test_a_range_of_the_content_is_sent(
    server: RunningServer, wanted: str, status: int, start: int, end: int
) -> None:
    container = await created(server)
    file = await server.sdk.containers.files.create(container, file=("a.html", CSV))
    url = f"{server.url}/containers/{container}/files/{file.id}/content"
    async with server.http.get(url, headers={"range": wanted}) as reply:
        assert (reply.status, await reply.read()) == (status, CSV[start:end])
        assert reply.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CSV)}"
    async with server.http.get(url, headers={"range": "bytes=20-"}) as reply:
        assert (reply.status, (await reply.json())["error"]["code"]) == (416, "invalid_range")


async def test_a_browser_saves_content_and_never_shows_it(server: RunningServer) -> None:
    container = await created(server)
    file = await server.sdk.containers.files.create(container, file=("x/../ü, 1.html", b"<script>"))
    assert file.path.endswith("-ü, 1.html")
    async with server.http.get(
        f"{server.url}/containers/{container}/files/{file.id}/content"
    ) as reply:
        assert reply.headers["content-type"] == "application/octet-stream"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-disposition"].startswith("attachment; ")
        assert reply.headers["content-disposition"].endswith("-%C3%BC%2C%201.html")


async def test_a_long_name_is_cut_before_its_extension(server: RunningServer) -> None:
    container = await created(server)
    file = await server.sdk.containers.files.create(container, file=("ü" * 120 + ".csv", CSV))
    name = file.path.removeprefix("/mnt/data/")
    assert re.fullmatch(r"[0-9a-f]{32}-ü+\.csv", name)
    assert 253 <= len(name.encode()) <= 255


async def test_unknown_containers_and_files_are_404(stateful: RunningServer) -> None:
    container = await created(stateful)
    file = "cfile_" + 48 * "0"
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/files"),
        ("GET", f"/files/{file}"),
        ("DELETE", f"/files/{file}"),
        ("GET", f"/files/{file}/content"),
    ):
        async with stateful.http.request(
            method, f"{stateful.url}/containers/{NO_CALLER}{path}"
        ) as reply:
            error = (await reply.json())["error"]
            assert (reply.status, error["message"], error["param"]) == (
                404,
                "Container not found.",
                None,
            )
        if path.startswith("/files/"):
            async with stateful.http.request(
                method, f"{stateful.url}/containers/{container}{path}"
            ) as reply:
                words = f"No file found with id '{file}' in container '{container}'."
                assert (reply.status, (await reply.json())["error"]["message"]) == (404, words)
    for body in ({"data": form()}, {"json": {"file_id": "file-none"}}):
        error = await refused(stateful, 404, f"/containers/{NO_CALLER}/files", **body)
        assert error["message"] == "Container not found."


async def test_an_expired_container_stays_readable_and_takes_nothing(
    stateful: RunningServer,
) -> None:
    container = await expired(stateful)
    file = "cfile_" + 48 * "0"
    found = await stateful.sdk.containers.retrieve(container)
    assert found.status == "expired"
    assert [one.status async for one in stateful.sdk.containers.list()] == ["expired"]
    for method, path in (
        ("GET", "/files"),
        ("GET", f"/files/{file}"),
        ("DELETE", f"/files/{file}"),
        ("GET", f"/files/{file}/content"),
    ):
        async with stateful.http.request(
            method, f"{stateful.url}/containers/{container}{path}"
        ) as reply:
            assert (reply.status, (await reply.json())["error"]["message"]) == (
                400,
                "Container is expired.",
            )
    for body in ({"data": form()}, {"json": {"file_id": "file-none"}}):
        error = await refused(stateful, 400, f"/containers/{container}/files", **body)
        assert error["message"] == "Container is expired."
    await stateful.sdk.containers.delete(container)
    assert (await stateful.get(f"/containers/{container}"))[0] == 404


@pytest.mark.parametrize("path", ["", "/files", "/files/cfile_1"])
async def test_every_call_on_a_container_is_a_use(server: RunningServer, path: str) -> None:
    before = int(time.time()) - 600
    container = replace(
        expired_container(""), created_at=before, last_active_at=before, name="idle"
    )
    await server.parts.store.write(containers.put, container, [], AMPLE)
    await server.get(f"/containers/{container.id}{path}")
    found = await find_container(server.parts.store, "", container.id)
    assert found is not None
    assert found.last_active_at >= before + 590


@pytest.mark.parametrize(
    ("body", "param", "code", "words"),
    [
        ({}, "name", "missing_required_parameter", "Missing required parameter: 'name'."),
        ({"name": ""}, "name", "empty_string", "Invalid 'name': empty string."),
        ({"name": "n", "x": 1}, "x", "unknown_parameter", "Unknown parameter: 'x'."),
        (
            {"name": "n", "memory_limit": "2g"},
            "memory_limit",
            "invalid_value",
            "Invalid value: '2g'. Supported values are: '1g', '4g', '16g', and '64g'.",
        ),
        (
            {"name": "n", "memory_limit": "16g"},
            "memory_limit",
            "unsupported_value",
            "Unsupported value: '16g' is not supported by this server. Supported values are: '1g' "
            "and '4g'.",
        ),
        (
            {
                "name": "n",
                "network_policy": {"type": "allowlist", "allowed_domains": ["example.com"]},
            },
            "network_policy.type",
            "unsupported_value",
            "Unsupported value: 'allowlist' is not supported by this server. "
            "Supported values are: 'disabled'.",
        ),
        (
            {"name": "n", "skills": [{"type": "skill_reference", "skill_id": "s"}]},
            "skills",
            "unsupported_parameter",
            "Unsupported parameter: 'skills' is not supported by this server.",
        ),
        (
            {"name": "n", "expires_after": {"anchor": "last_active_at", "minutes": 0}},
            "expires_after.minutes",
            "integer_below_min_value",
            "Invalid 'expires_after.minutes': integer below minimum value.",
        ),
        (
            {"name": "n", "expires_after": {"anchor": "created_at", "minutes": 5}},
            "expires_after.anchor",
            "invalid_value",
            "Invalid value: 'created_at'.",
        ),
        (
            {"name": "n", "file_ids": "file-1"},
            "file_ids",
            "invalid_type",
            "Invalid type for 'file_ids'",
        ),
    ],
)
async def test_a_bad_container_is_refused(
    server: RunningServer, body: dict[str, Any], param: str, code: str, words: str
) -> None:
    error = await refused(server, 400, json=body)
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert error["message"].startswith(words)
    assert (await server.sdk.containers.list()).data == []


async def test_a_memory_limit_up_to_the_operators_maximum_is_taken(server: RunningServer) -> None:
    server.parts.run.history.bounds.container_memory = "16g"
    assert (await server.sdk.containers.create(name="n", memory_limit="16g")).memory_limit == "16g"
    with pytest.raises(openai.BadRequestError, match="Supported values are: '1g', '4g', and '16g'"):
        await server.sdk.containers.create(name="n", memory_limit="64g")


async def test_a_container_of_unknown_files_is_not_created(stateful: RunningServer) -> None:
    file = await stateful.sdk.files.create(file=("a.csv", CSV), purpose="user_data")
    error = await refused(stateful, 404, json={"name": "n", "file_ids": [file.id, "file-none"]})
    assert (error["message"], error["param"]) == ("No such File object: file-none", "file_ids[1]")
    assert (await stateful.sdk.containers.list()).data == []


async def test_a_bad_file_is_refused(server: RunningServer) -> None:
    path = f"/containers/{await created(server)}/files"
    error = await refused(server, 400, path, data=form(filename=None))
    assert (error["param"], error["message"][:15]) == ("file", "Invalid 'file':")
    error = await refused(server, 400, path, data=form(name="data"))
    assert error["message"] == "Unknown parameter: 'data'."
    error = await refused(server, 400, path, json={})
    assert error["message"] == "Missing required parameter: 'file_id'."
    error = await refused(server, 415, path, data=b"x", headers={"content-type": "text/csv"})
    assert error["code"] == "unsupported_media_type"
    error = await refused(server, 400, "/containers/resp_1/files", data=form())
    assert error["message"].startswith("Invalid 'container_id': 'resp_1'.")
    twice = form()
    twice.add_field("file", BytesIO(b"more"), filename="b.csv")
    error = await refused(server, 400, path, data=twice)
    assert error["message"].startswith("Invalid 'file': ")
    assert (await server.sdk.containers.files.list(path.split("/")[2])).data == []
    assert await server.parts.store.read(sizes.stored_bytes, "") == 0


async def test_a_list_after_an_unknown_id_is_refused(server: RunningServer) -> None:
    container = await created(server)
    with pytest.raises(openai.BadRequestError, match="Invalid 'after': no container with id"):
        await server.sdk.containers.list(after=NO_CALLER)
    with pytest.raises(openai.BadRequestError, match="Invalid 'after': no container file with id"):
        await server.sdk.containers.files.list(container, after="cfile_none")


async def test_a_tenant_has_so_many_containers_and_no_more(stateful: RunningServer) -> None:
    stateful.parts.run.history.bounds.containers = 2
    await expired(stateful)
    first = await created(stateful)
    _ = await created(stateful)
    with pytest.raises(openai.RateLimitError, match="quota of containers: 2 can"):
        await created(stateful)
    await stateful.sdk.containers.delete(first)
    assert await created(stateful)


async def test_a_container_holds_so_many_files_and_bytes_and_no_more(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.objects.containers.MOST_FILES", 2)
    monkeypatch.setattr("antiphon.objects.containers.MOST_BYTES", 50)
    sdk = stateful.sdk
    container = await created(stateful)
    await sdk.containers.files.create(container, file=("a.csv", CSV))
    for content in (b"x" * 31, b"x" * 2_000_000):
        with pytest.raises(
            openai.BadRequestError, match="can hold at most 2 files with 50 bytes in total"
        ):
            await sdk.containers.files.create(container, file=("b.csv", content))
    file = await sdk.files.create(file=("c.csv", b"y" * 31), purpose="user_data")
    with pytest.raises(openai.BadRequestError) as error:
        await sdk.containers.files.create(container, file_id=file.id)
    assert error.value.code == "container_full"
    await sdk.containers.files.create(container, file=("b.csv", b"x" * 30))
    with pytest.raises(openai.BadRequestError, match="has no room for this"):
        await sdk.containers.files.create(container, file=("d.csv", b""))
    more = [
        (await sdk.files.create(file=(f"{n}.csv", b""), purpose="user_data")).id for n in range(3)
    ]
    with pytest.raises(openai.BadRequestError, match="has no room for this"):
        await created(stateful, file_ids=more)


async def test_files_count_in_what_a_tenant_may_store(stateful: RunningServer) -> None:
    files = stateful.parts.objects.files.get()
    files.limits = replace_fields(files.limits, stored_bytes=50)
    sdk = stateful.sdk
    container = await created(stateful)
    await sdk.containers.files.create(container, file=("a.csv", CSV))
    file = await sdk.files.create(file=("b.csv", CSV), purpose="user_data")
    for fields in ({"file_id": file.id}, {"file": ("c.csv", CSV)}):
        with pytest.raises(openai.RateLimitError) as error:
            await sdk.containers.files.create(container, **fields)  # type: ignore[arg-type]
        assert error.value.code == "storage_quota_exceeded"
    with pytest.raises(openai.RateLimitError, match="You exceeded your storage quota"):
        await created(stateful, file_ids=[file.id])


async def test_the_same_key_gives_the_same_container_and_file(stateful: RunningServer) -> None:
    key = {"Idempotency-Key": "one"}
    body = {"json": {"name": "work"}, "headers": key}
    one, again = [await stateful.post("/containers", **body) for _ in range(2)]
    assert one == again
    container = str(one[1]["id"])
    assert [each.id async for each in stateful.sdk.containers.list()] == [container]
    assert (await refused(stateful, 422, json={"name": "other"}, headers=key))[
        "code"
    ] == "idempotency_key_reused"
    path = f"/containers/{container}/files"
    key = {"Idempotency-Key": "two"}
    first, second = [await stateful.post(path, data=form(), headers=key) for _ in range(2)]
    assert first == second
    assert [each.id async for each in stateful.sdk.containers.files.list(container)] == [
        first[1]["id"]
    ]
    assert (await refused(stateful, 422, path, data=form(b"x"), headers=key))[
        "code"
    ] == "idempotency_key_reused"
    assert await stateful.parts.store.write(stored_files.claim_stale, 10) == []
