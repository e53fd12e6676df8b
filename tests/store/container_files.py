"""Promises about the files of containers, their quota, and the blobs that they share."""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers, sizes
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.files import FileQuery
from antiphon.storage.store import Store
from tests.store.containers import (
    ALL,
    AMPLE,
    OTHER,
    new_container,
    new_container_file,
    stored,
    written,
)
from tests.store.files import new_file, put, stale
from tests.store.making import T, hold


async def _files_are_stored(store: Store) -> None:
    """A file is returned as it was stored, until it is deleted; another container or tenant does
    not have it.
    """
    container, (first,) = await stored(store, T, "first.csv")
    other, _ = await stored(store, T)
    more = await written(store, container, "b.csv", "c.csv")
    hold(
        await store.write(containers.put_files, container.tenant, container.id, more, AMPLE)
        == more,
        "files are returned changed",
    )
    hold(
        await store.write(containers.put_files, container.tenant, container.id, [], AMPLE) == [],
        "no files are not stored",
    )
    files = [first, *more]
    for file in files:
        hold(
            await store.read(containers.load_file, T, container.id, file.id) == file,
            "a file is not returned unchanged",
        )
    for tenant, container_id in ((T, other.id), (OTHER, container.id)):
        hold(
            await store.read(containers.load_file, tenant, container_id, first.id) is None,
            "another container has it",
        )
        hold(
            await store.write(containers.delete_files, tenant, container_id, [first.id]) == 0,
            "it is deleted from another container or tenant",
        )
    foreign = replace(container, tenant=OTHER)
    left = await written(store, foreign, "x.csv")
    hold(
        await store.write(containers.put_files, OTHER, container.id, left, AMPLE) is None,
        "another tenant stores a file in it",
    )
    await _are_paged(store, container, files)
    removed = await store.write(
        containers.delete_files, T, container.id, [first.id, new_id("cfile"), first.id]
    )
    hold(removed == 1, f"{removed} of one file are deleted")
    hold(
        await store.read(containers.load_file, T, container.id, first.id) is None,
        "a deleted file still exists",
    )
    for one in (container, other):
        await store.write(containers.delete, T, one.id)
    await store.write(stored_files.spare, OTHER, left[0].blob)
    await stale(store)


async def _are_paged(
    store: Store, container: StoredContainer, files: Sequence[StoredContainerFile]
) -> None:
    for query, numbers, has_more in (
        (ALL, [0, 1, 2], False),
        (ContainerQuery(2), [2, 1], True),
        (ContainerQuery(2, files[1].id), [0], False),
        (ContainerQuery(1, files[0].id, descending=False), [1], True),
    ):
        page = await store.read(containers.file_page, T, container.id, query)
        found = [files.index(file) for file in page.data]
        hold(
            (found, page.has_more) == (numbers, has_more),
            f"{query} returns {found}, more: {page.has_more}",
        )
    unknown = ContainerQuery(1, new_id("cfile"))
    hold(
        (await store.read(containers.file_page, T, container.id, unknown)).unknown,
        "an unknown file begins a page",
    )
    hold(
        not (await store.read(containers.file_page, OTHER, container.id, ALL)).data,
        "another tenant lists the files",
    )


async def _replaces(store: Store) -> None:
    """A file replaces the one at its path and has its id; the replaced content is stale, and not
    counted.
    """
    tenant = new_id("tenant")
    container, (old, saved) = await stored(store, tenant, "a.csv", "b.csv")
    (new,) = await written(store, container, "a.csv", size=25)
    new = replace(new, source="assistant", created_at=new.created_at + 5)
    expected = replace(new, id=old.id)
    hold(
        await store.write(containers.put_files, container.tenant, container.id, [new], AMPLE)
        == [expected],
        "it is not stored under the old id",
    )
    hold(
        await store.read(containers.load_file, tenant, container.id, new.id) is None,
        "it is also stored under its own id",
    )
    hold(
        (await store.read(containers.file_page, tenant, container.id, ALL)).data
        == (expected, saved),
        "the old one exists",
    )
    hold(
        await stale(store, old.blob, new.blob, saved.blob) == {old.blob},
        "something other than the replaced blob is stale",
    )
    hold(
        await store.read(sizes.stored_bytes, tenant) == 35,
        f"35 bytes are counted as {await store.read(sizes.stored_bytes, tenant)}",
    )
    again = await store.write(
        containers.put_files,
        container.tenant,
        container.id,
        [replace(expected, id=new_id("cfile"))],
        AMPLE,
    )
    hold(again == [expected], "a file that replaces itself is returned changed")
    hold(await stale(store, new.blob) == set(), "a blob that replaced itself is stale")
    await store.write(containers.delete, tenant, container.id)
    hold(
        await stale(store, new.blob, saved.blob) == {new.blob, saved.blob},
        "blobs of a deleted container are not stale",
    )
    hold(
        await store.read(sizes.stored_bytes, tenant) == 0,
        "bytes of a deleted container still count",
    )


async def _files_have_a_quota(store: Store) -> None:
    """A container never has more files or bytes than its quota: files are stored all or none."""
    quota = ContainerQuota(1_000_000, 2, 30)
    many = new_container()
    files = await written(store, many, "a", "b", "c")
    hold(
        not await store.write(containers.put, many, files, quota),
        "three files are stored in a container with a quota of two",
    )
    hold(await find_container(store, T, many.id) is None, "a container is stored without its files")
    container, (first,) = await stored(store, T, "a")
    for names, size in ((("b", "c"), 1), (("b",), 21), (("a",), 31)):
        refused = await written(store, container, *names, size=size)
        files += refused
        what = f"{names} of {size} bytes in addition to 10 bytes"
        hold(
            await store.write(containers.put_files, container.tenant, container.id, refused, quota)
            is None,
            f"{what} are stored",
        )
    (fits,) = await written(store, container, "b", size=20)
    hold(
        await store.write(containers.put_files, container.tenant, container.id, [fits], quota)
        == [fits],
        "a file that fits is rejected",
    )
    (replacing,) = await written(store, container, "a", size=5)
    hold(
        await store.write(containers.put_files, container.tenant, container.id, [replacing], quota)
        is not None,
        "it cannot be made smaller",
    )
    hold(
        await stale(store, first.blob, *(file.blob for file in files)) == {first.blob},
        "a rejected file kept its blob",
    )
    for file in files:
        await store.write(stored_files.spare, T, file.blob)
    await store.write(containers.delete, T, container.id)
    await stale(store)


async def _blobs_are_shared(store: Store) -> None:
    """A container's file can have the blob of the tenant's file, or of another container; the last
    one frees it.
    """
    file = new_file(T, new_id("content").encode())
    await put(store, file)
    one = new_container()
    two = new_container()
    first, second = (new_container_file(each, blob=file.blob) for each in (one, two))
    hold(await store.write(containers.put, one, [first], AMPLE), "it is not stored")
    hold(await store.write(containers.put, two, [], AMPLE), "it is not stored")
    hold(
        await store.write(containers.put_files, two.tenant, two.id, [second], AMPLE) == [second],
        "a file is not stored",
    )
    await store.write(stored_files.delete, T, file.id)
    await store.write(containers.delete, T, one.id)
    hold(await stale(store, file.blob) == set(), "the blob of a container's file is stale")
    hold(
        await put(store, replace(new_file(T), digest=file.digest)) is not None,
        "the content cannot be uploaded again",
    )
    await store.write(containers.delete_files, T, two.id, [second.id])
    hold(await stale(store, file.blob) == set(), "the blob of a new file is stale")
    (page,) = (await store.read(stored_files.page, T, FileQuery(1))).data
    hold(page.blob == file.blob, "a new file with the content has another blob")
    await store.write(stored_files.delete, T, page.id)
    hold(await stale(store, file.blob) == {file.blob}, "the blob of the last file is not stale")
    foreign = new_file(OTHER, b"foreign")
    await put(store, foreign)
    for blob in (file.blob, foreign.blob, new_id("row")):
        await _cannot_have(store, two, blob)
    await store.write(stored_files.delete, OTHER, foreign.id)
    await store.write(containers.delete, T, two.id)
    await stale(store)


async def _cannot_have(store: Store, container: StoredContainer, blob: str) -> None:
    try:
        await store.write(
            containers.put_files,
            container.tenant,
            container.id,
            [new_container_file(container, blob=blob)],
            AMPLE,
        )
    except StoreError:
        return
    hold(False, "a file has a blob that was deleted, of another tenant, or never begun")
