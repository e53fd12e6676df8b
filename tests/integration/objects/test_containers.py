"""`Containers` beside the endpoints: what is changed while a file comes in, on both stores."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest

from antiphon.errors import ClientError
from antiphon.objects.container_files import ContainerFiles
from antiphon.objects.container_objects import ContainerLimits
from antiphon.objects.containers import Containers
from antiphon.objects.file_limits import FileLimits
from antiphon.objects.files import Files
from antiphon.protocol.containers import ContainerFilesQuery, CreateContainer
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.blobs.rows import StoreBlobs
from antiphon.storage.blobs.turns import part_turns
from antiphon.storage.open import open_store
from antiphon.storage.operations import sizes
from antiphon.storage.records.containers import ContainerQuota, StoredContainer
from antiphon.storage.store import Store

ONE = RequestIdentity("t")


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


@pytest.fixture
def files(store: Store) -> Files:
    return Files(store, StoreBlobs(store, part_turns()), FileLimits(file=1000))


@pytest.fixture
def containers(store: Store, files: Files) -> Containers:
    return Containers(store, files, ContainerLimits(ContainerQuota(5, 3, 100)))


@pytest.fixture
def inside(store: Store, containers: Containers, files: Files) -> ContainerFiles:
    return ContainerFiles(store, containers, files)


async def created(containers: Containers) -> StoredContainer:
    return await containers.load(
        "t", (await containers.create(CreateContainer(name="work"), ONE))["id"]
    )


async def content(*pieces: bytes) -> AsyncGenerator[bytes, None]:
    for piece in pieces:
        yield piece


async def test_a_file_for_a_container_that_is_deleted_meanwhile_leaves_nothing(
    store: Store, files: Files, containers: Containers, inside: ContainerFiles
) -> None:
    container = await created(containers)
    written = await files.write("t", content(b"late"), await inside.room(container))
    await containers.delete("t", container.id)
    with pytest.raises(ClientError, match="Container not found") as error:
        await inside.add(container, "a.csv", written, ONE)
    assert error.value.status == 404
    await files.drop("t", written.blob)
    assert (
        await store.blob_part(written.blob, 0),
        await store.read(sizes.stored_bytes, "t"),
    ) == (
        None,
        0,
    )


async def test_concurrent_uploads_are_stored_up_to_the_limit(
    files: Files, containers: Containers, inside: ContainerFiles
) -> None:
    container = await created(containers)
    room = await inside.room(container)
    first, second = [await files.write("t", content(b"x" * 60), room) for _ in range(2)]
    stored = await inside.add(container, "a.csv", first, ONE)
    with pytest.raises(ClientError, match="has no room") as error:
        await inside.add(container, "b.csv", second, ONE)
    assert (error.value.status, error.value.code) == (400, "container_full")
    assert (await inside.list("t", container.id, ContainerFilesQuery()))["data"] == [stored]


async def test_content_that_comes_at_once_never_exceeds_the_room(
    files: Files, containers: Containers, inside: ContainerFiles
) -> None:
    room = await inside.room(await created(containers))

    async def slow() -> AsyncGenerator[bytes, None]:
        yield b"x" * 60
        with pytest.raises(ClientError, match="has no room"):
            await files.write("t", content(b"y" * 60), room)
        yield b"x" * 40

    assert (await files.write("t", slow(), room)).size == 100
    with pytest.raises(ClientError, match="has no room"):
        await files.write("t", content(b"z" * 101), room)


async def test_a_file_above_the_limit_of_files_is_413(files: Files, store: Store) -> None:
    containers = Containers(store, files, ContainerLimits(ContainerQuota(5, 3, 5000)))
    room = await ContainerFiles(store, containers, files).room(await created(containers))
    with pytest.raises(ClientError, match="more than 1000 bytes") as error:
        await files.write("t", content(b"x" * 1001), room)
    assert error.value.status == 413


async def test_a_room_ends_where_the_tenant_may_store_no_more(
    files: Files, containers: Containers, inside: ContainerFiles
) -> None:
    files.limits = replace(files.limits, stored_bytes=50)
    room = await inside.room(await created(containers))
    with pytest.raises(ClientError, match="50 are allowed") as error:
        await files.write("t", content(b"x" * 51), room)
    assert (error.value.status, error.value.code) == (429, "storage_quota_exceeded")


async def test_all_files_of_a_container_are_listed_oldest_first(
    containers: Containers, inside: ContainerFiles, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.objects.container_files.FILES_AT_ONCE", 2)
    container = await created(containers)
    built = []
    for name in "abc":
        written = await files.write("t", content(name.encode()), await inside.room(container))
        built.append(await inside.add(container, name, written, ONE))
    assert (await inside.list("t", container.id, ContainerFilesQuery(order="asc")))["data"] == built
    with pytest.raises(ClientError, match="at most 3 files"):
        await inside.room(container)
    second = await inside.load("t", container.id, built[1]["id"])
    assert b"".join([part async for part in inside.read(second, 0, second.size)]) == b"b"
