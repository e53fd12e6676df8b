"""Adds files and folders to a vector store: uploads new and changed files, and waits until they are
ingested.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from antiphon.errors import ClientError, ConfigError
from antiphon.gateway.parts import Parts
from antiphon.objects.vector_store_objects import usual_sizes
from antiphon.protocol.files import FileForm
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import (
    AttachResult,
    NewAttachment,
    StoredVectorStore,
    StoreFile,
    StorePageQuery,
)

PART = 1024 * 1024
"""Bytes of a file that are read at a time."""

POLL_INTERVAL = 0.2
"""Seconds between two reads of the state of files that are being ingested."""

PAGE = 100

Progress = Callable[[int, int], None]
"""Receives the number of files that are done, and the number of all files."""


@dataclass(slots=True)
class Added:
    """The outcome for the files of a folder; `failed` has the names and the reasons."""

    added: int = 0
    unchanged: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


def files_below(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the files of these paths with their names in the store, except hidden files.

    Raises `ConfigError` for a path that does not exist.
    """
    for path in paths:
        if path.is_file():
            yield path.name, path
        elif path.is_dir():
            for found in sorted(path.rglob("*")):
                inside = found.relative_to(path)
                if found.is_file() and not any(part.startswith(".") for part in inside.parts):
                    yield inside.as_posix(), found
        else:
            raise ConfigError(f"{path} does not exist. Check the path.")


async def add(
    parts: Parts, store: StoredVectorStore, paths: Sequence[tuple[str, Path]], progress: Progress
) -> Added:
    """Add files to a store, and wait until all are ingested.

    A file that the store has with this content is skipped.

    Raises `ClientError` if a quota of the tenant has no room for a file, `StoreError`.
    """
    result = Added()
    begun = list[str]()
    known = {_path(one): one for one in await attached(parts, store)}
    for number, (name, path) in enumerate(paths):
        progress(number, len(paths))
        before = known.get(name)
        try:
            if before is not None and await _is_same(parts, before, path):
                result.unchanged += 1
                continue
            begun.append(await _attach(parts, store, name, path))
        except ClientError as error:
            result.failed.append((name, error.message))
            continue
        except OSError as error:
            result.failed.append((name, f"The file cannot be read: {error.strerror}."))
            continue
        if before is not None:  # only now that the new content is stored
            await parts.store.write(stored_files.delete, store.tenant, before.file_id)
    await _ingested(
        parts,
        store,
        begun,
        result,
        lambda done: progress(len(paths) - len(begun) + done, len(paths)),
    )
    return result


async def attached(parts: Parts, store: StoredVectorStore) -> Sequence[StoreFile]:
    """Return all files of a store."""
    found: list[StoreFile] = []
    after: str | None = None
    while True:
        query = StorePageQuery(PAGE, after, descending=False)
        page = await parts.store.read(vector_stores.files, store.tenant, store.id, query)
        found += page.data
        if not page.has_more:
            return found
        after = page.data[-1].file_id


def _path(file: StoreFile) -> str:
    """Return the path that `add` has stored; empty for a file that was attached another way."""
    attributes: Mapping[str, object] = msgspec.json.decode(file.attributes)
    return str(attributes.get("path", ""))


async def _is_same(parts: Parts, before: StoreFile, path: Path) -> bool:
    if before.status not in ("completed", "in_progress"):
        return False
    file = await parts.objects.files.get().find(before.tenant, before.file_id)
    return file is not None and file.digest == await asyncio.to_thread(_digest, path)


def _digest(path: Path) -> bytes:
    digest = sha256()
    with path.open("rb") as content:
        while part := content.read(PART):
            digest.update(part)
    return digest.digest()


async def _attach(parts: Parts, store: StoredVectorStore, name: str, path: Path) -> str:
    files = parts.objects.files.get()
    tenant = store.tenant
    written = await files.write(tenant, _content(path), await files.room(tenant))
    identity = RequestIdentity(tenant)
    created = await files.create(FileForm(purpose="assistants"), path.name, written, identity)
    file_id = str(created["id"])
    attributes = msgspec.json.encode({"path": name[:512]})
    new = NewAttachment(
        file_id, attributes, *usual_sizes(parts.objects.chunk_tokens, store.embedding_model)
    )
    outcome = await parts.store.write(vector_stores.attach, tenant, store.id, [new])
    if outcome.result is not AttachResult.DONE:
        raise ConfigError(
            f"The vector store {store.id} accepts no more files: {outcome.result.value}."
        )
    return file_id


async def _content(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as content:
        while part := await asyncio.to_thread(content.read, PART):
            yield part


async def _ingested(
    parts: Parts,
    store: StoredVectorStore,
    file_ids: Sequence[str],
    result: Added,
    progress: Callable[[int], None],
) -> None:
    """Wait until no file is in progress, and record the outcome of each."""
    waiting = list(file_ids)
    while waiting:
        rest = []
        for file_id in waiting:
            file = await parts.store.read(vector_stores.file, store.tenant, store.id, file_id)
            if file is not None and file.status == "in_progress":
                rest.append(file_id)
            elif file is None or file.status != "completed":
                reason = (
                    "it was removed from the vector store" if file is None else file.error_message
                )
                result.failed.append(
                    (_path(file) if file else file_id, reason or "it was cancelled")
                )
            else:
                result.added += 1
        waiting = rest
        progress(len(file_ids) - len(waiting))
        if waiting:
            await asyncio.sleep(POLL_INTERVAL)
