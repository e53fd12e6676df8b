"""Containers of code and the files in them: names for files that outlive kernels, restarts and
replicas.

Only one call at a time can hold a container. It acquires the hold with `hold`, renews it while it
runs, and releases it with `end_hold`. The hold of a dead worker expires. The worker that runs a
kernel learns from the hold whether its kernel is up to date.

Rows of an expired container stay readable for the retention time. Its files are deleted, and their
blobs are stale.
"""

from collections.abc import Mapping, Sequence
from math import ceil

from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.storage.operations.lists import part
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    Operation,
    Row,
    announce_read,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    FoundContainer,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.pages import Page
from antiphon.storage.records.tenants import StoredReply

MINUTE = 60

USED_EVERY = 60
"""Seconds after a recorded use of a container during which further uses are not recorded."""


@writes("put_container")
def put(
    container: StoredContainer,
    files: Sequence[StoredContainerFile],
    quota: ContainerQuota,
    *,
    reply: StoredReply | None = None,
) -> Operation[bool]:
    """Store a new container with files.

    Each blob must be written already, or belong to a file of the tenant.

    Return False if the container exceeds the tenant's quota. If a container with this id exists, it
    is unchanged and the result is True. `reply` is stored for the `Idempotency-Key` that was
    reserved under the container's id.
    """
    now: int = yield NOW
    shift: int = yield SHIFT
    created_at = container.created_at + shift
    last_active_at = container.last_active_at + shift
    container = replace(container, created_at=created_at, last_active_at=last_active_at)
    yield from query_rows("lock_containers_of", container.tenant)
    if (yield from first("container_place", container.id, container.tenant)):
        return True
    ((running,),) = yield from query_rows("running_containers", container.tenant, now)
    if running >= quota.containers or not _fits({file.path: file.size for file in files}, quota):
        return False
    times = (
        container.created_at,
        container.last_active_at,
        container.idle_minutes,
        _expiry(container),
    )
    limits = container.memory_limit, container.network_policy, int(container.is_auto)
    name = container.name.encode()
    ((seq,),) = yield from query_rows(
        "put_container", container.id, container.tenant, name, *times, *limits
    )
    yield from _put_files(
        seq, container.tenant, list({file.path: file for file in files}.values()), {}
    )
    yield from answer(reply, container.id)
    return True


@reads("load_container")
def load(tenant: str, container_id: str) -> Operation[FoundContainer | None]:
    """Return the container, even if it has expired, or None.

    Who uses an unexpired one records that with `use`.
    """
    now: int = yield NOW
    row = yield from first("load_container", container_id, tenant)
    if row is None:
        return None
    container = _container(row, now)
    due = min(USED_EVERY, container.idle_minutes * MINUTE // 4)
    return FoundContainer(
        container, container.status == "running" and now - container.last_active_at >= due
    )


@writes("use_container")
def use(tenant: str, container_id: str) -> Operation[StoredContainer | None]:
    """Postpone the expiry of an unexpired container; return its new state, or None if it is
    unknown.
    """
    now: int = yield NOW
    row = yield from first("lock_container", container_id, tenant)
    if row is None:
        return None
    container = _container(row, now)
    if container.status == "running":
        yield from _use("use_container", row, now)
        container = replace(container, last_active_at=now)
    return container


@writes("delete_container", frees=True)
def delete(tenant: str, container_id: str) -> Operation[bool]:
    """Delete the container and its files; return False if it is unknown."""
    return bool((yield from query_rows("delete_container", container_id, tenant)))


@reads("container_page")
def page(tenant: str | None, query: ContainerQuery) -> Operation[Page[StoredContainer]]:
    """Return one page of the tenant's containers, or of all tenants' containers if `tenant` is
    None.
    """
    now: int = yield NOW
    name = None if query.name is None else query.name.encode()
    place, owner = (
        ("container_place_of_all", ()) if tenant is None else ("container_place", (tenant,))
    )
    places: dict[str, int] = {}
    if query.after is not None:
        row = yield from first(place, query.after, *owner)
        if row is None:
            return Page(unknown="after")
        places["after"] = row[0]
    yield from announce_read(query.limit)
    if tenant is None:
        rows, has_more = yield from part("containers_of_all", (), (name,), query, places)
    elif name is None:
        rows, has_more = yield from part("containers", owner, (), query, places)
    else:
        rows, has_more = yield from part("named_containers", (*owner, name), (), query, places)
    return Page(tuple(_container(row, now) for row in rows), has_more)


@writes("hold_container")
def hold(
    tenant: str, container_id: str, holder: str, worker: str, seconds: float
) -> Operation[StoredContainer | None]:
    """Hold an unexpired container for `seconds`; return its previous state, or None if it is
    unknown or expired.

    If another call holds it, the returned container `is_busy` and nothing changes: try again later.
    Otherwise, `worker` is stored as the worker of its kernel, and `calls` is incremented.
    """
    now: int = yield NOW
    row = yield from _running(tenant, container_id, now)
    if row is None:
        return None
    container = _container(row, now)
    if container.is_busy and _holder(row) != holder:
        return container
    yield from _use("hold_container", row, now, holder, now + seconds, worker, until=now + seconds)
    return replace(container, is_busy=False)


@writes("renew_hold")
def renew_hold(tenant: str, container_id: str, holder: str, seconds: float) -> Operation[bool]:
    """Extend the hold to `seconds` from now.

    False means that the hold has ended, or the container: stop the call.
    """
    now: int = yield NOW
    row = yield from _running(tenant, container_id, now)
    if row is None or _holder(row) != holder:
        return False
    yield from _use("renew_container_hold", row, now, now + seconds, until=now + seconds)
    return True


@writes("end_hold")
def end_hold(tenant: str, container_id: str, holder: str) -> Operation[None]:
    """Release the hold, so that the next call can start."""
    now: int = yield NOW
    row = yield from _running(tenant, container_id, now)
    if row is not None and _holder(row) == holder:
        yield from _use("end_container_hold", row, now)


@writes("put_container_files")
def put_files(
    tenant: str,
    container_id: str,
    files: Sequence[StoredContainerFile],
    quota: ContainerQuota,
    holder: str = "",
    *,
    reply: StoredReply | None = None,
) -> Operation[Sequence[StoredContainerFile] | None]:
    """Store files, after their blobs are written.

    A file replaces the one at its path and keeps its id.

    Return the files as they are stored. Return None if the container is unknown or expired, if the
    files exceed the quota, or if `holder` is set and does not hold the container. A hold that timed
    out stays valid until another holder acquires the container. `reply` is stored for the
    `Idempotency-Key` that was reserved under the id of the first file.
    """
    if not files:
        return []
    now: int = yield NOW
    files = list({file.path: file for file in files}.values())
    row = yield from _running(tenant, container_id, now)
    if row is None or (holder and _holder(row) != holder):
        return None
    known = {
        path: (file_id, size, seq)
        for file_id, path, size, seq in (yield from query_rows("container_files", row[-1]))
    }
    sizes = {path: size for path, (_, size, _) in known.items()} | {
        file.path: file.size for file in files
    }
    if not _fits(sizes, quota):
        return None
    stored = [
        replace(file, id=known[file.path][0]) if file.path in known else file for file in files
    ]
    yield from _put_files(
        row[-1], tenant, stored, {path: seq for path, (_, _, seq) in known.items()}
    )
    yield from answer(reply, files[0].id)
    return stored


@reads("load_container_file")
def load_file(
    tenant: str, container_id: str, file_id: str
) -> Operation[StoredContainerFile | None]:
    """Return a file of an unexpired container, or None."""
    now: int = yield NOW
    row = yield from first("load_container_file", file_id, container_id, tenant, now)
    return _file(row) if row else None


@writes("delete_container_files", frees=True)
def delete_files(tenant: str, container_id: str, file_ids: Sequence[str]) -> Operation[int]:
    """Delete these files and make their blobs stale; return the number of deleted files."""
    now: int = yield NOW
    row = yield from _running(tenant, container_id, now)
    removed = 0
    for file_id in file_ids if row else ():
        removed += len(
            (yield from query_rows("delete_container_file", file_id, row[-1] if row else 0))
        )
    return removed


@reads("container_file_page")
def file_page(
    tenant: str, container_id: str, query: ContainerQuery
) -> Operation[Page[StoredContainerFile]]:
    """Return one page of the container's files."""
    now: int = yield NOW
    row = yield from first("load_container", container_id, tenant)
    if row is None or _container(row, now).status == "expired":
        return Page(unknown="after" if query.after is not None else "")
    places: dict[str, int] = {}
    if query.after is not None:
        found = yield from first("load_container_file", query.after, container_id, tenant, now)
        if found is None:
            return Page(unknown="after")
        places["after"] = found[-1]
    rows, has_more = yield from part("container_files", (row[-1],), (), query, places)
    return Page(tuple(map(_file, rows)), has_more)


@writes("expire_containers", is_of_all=True, frees=True)
def empty_expired(limit: int) -> Operation[int]:
    """Delete the files of expired containers, and mark the containers; return the number of
    containers.
    """
    now: int = yield NOW
    expired = yield from query_rows("expired_containers", now, limit)
    for (seq,) in expired:
        yield from query_rows("empty_container", seq)
        yield from query_rows("mark_container_emptied", seq)
    return len(expired)


def _running(tenant: str, container_id: str, now: int) -> Operation[Row | None]:
    """Lock a container's row and return it, or None if it is unknown or has expired."""
    row = yield from first("lock_container", container_id, tenant)
    return row if row is not None and _container(row, now).status == "running" else None


def _use(query: str, row: Row, now: int, *values: object, until: float = 0) -> Operation[None]:
    """Change a container and postpone its expiry, at least to the end of a hold."""
    expires_at = max(now + row[5] * MINUTE, ceil(until))
    yield from query_rows(query, row[-1], now, expires_at, *values)


def _put_files(
    seq: int, tenant: str, files: Sequence[StoredContainerFile], places: Mapping[str, int]
) -> Operation[None]:
    """Insert files, replacing those at `places`.

    Blobs are locked in sorted order, to avoid deadlocks.
    """
    for file in sorted(files, key=lambda file: file.blob):
        # Files that code creates are not deduplicated by digest: they change too often for it
        # to be worth it.
        if not (yield from query_rows("take_blob", file.blob, tenant, b"")):
            raise StoreError(
                "The content of a file was deleted before the file was stored. Try again."
            )
    for file in files:
        values = file.size, file.blob, file.source, file.created_at
        if file.path in places:
            yield from query_rows("replace_container_file", places[file.path], *values)
        else:
            yield from query_rows("put_container_file", file.id, seq, tenant, file.path, *values)


def _fits(sizes: Mapping[str, int], quota: ContainerQuota) -> bool:
    return len(sizes) <= quota.files and sum(sizes.values()) <= quota.size


def _expiry(container: StoredContainer) -> int:
    return container.last_active_at + container.idle_minutes * MINUTE


def _holder(row: Row) -> str:
    holder: str = row[13]
    return holder


def _container(row: Row, now: int) -> StoredContainer:
    (
        container_id,
        tenant,
        name,
        created_at,
        last_active_at,
        idle_minutes,
        memory_limit,
        network_policy,
    ) = row[:8]
    is_auto, worker, calls, expires_at, is_emptied, holder, retained_until, _ = row[8:]
    is_running = expires_at > now and not is_emptied
    return StoredContainer(
        container_id,
        tenant,
        name.decode(),
        created_at,
        last_active_at,
        idle_minutes,
        memory_limit,
        network_policy,
        "running" if is_running else "expired",
        bool(is_auto),
        worker,
        calls,
        is_running and holder != "" and retained_until > now,
    )


def _file(row: Row) -> StoredContainerFile:
    return StoredContainerFile(*row[:8])
