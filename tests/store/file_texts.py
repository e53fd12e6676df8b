"""Promises about texts that were read from files."""

from msgspec.structs import replace

from antiphon.ids import new_id, now
from antiphon.storage.operations import file_texts
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.files import FileQuota, FileText, StoredFile
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import T, hold

HOUR = 3600


def _text(*, tenant: str = T, stored_size: int = HOUR) -> FileText:
    digest = new_id("digest").encode()[-32:]
    return FileText(
        tenant,
        digest,
        1,
        "pdf",
        2,
        is_cut=True,
        body=b"text\0",
        expires_at=int(now()) + stored_size,
    )


async def _stored(store: Store) -> None:
    """A text is found by its tenant, the digest and the version of the reader; the newest replaces
    the one before.
    """
    mine = _text()
    hold(
        await store.read(file_texts.find, T, mine.digest, 1) is None,
        "a text was found before it was stored",
    )
    await store.write(file_texts.put, mine)
    found = await store.read(file_texts.find, T, mine.digest, 1)
    hold(
        found is not None and replace(found, expires_at=0) == replace(mine, expires_at=0),
        "a text is not returned unchanged",
    )
    hold(
        await store.read(file_texts.find, T + "2", mine.digest, 1) is None,
        "another tenant found a text",
    )
    hold(
        await store.read(file_texts.find, T, mine.digest, 2) is None,
        "another version of the reader found a text",
    )
    await store.write(file_texts.put, replace(mine, version=2, body=b"newer"))
    newer = await store.read(file_texts.find, T, mine.digest, 2)
    hold(newer is not None and newer.body == b"newer", "a text was not replaced")


async def _expires(store: Store) -> None:
    """A text that has expired is unknown, and `purge` deletes it."""
    old = _text(stored_size=-1)
    await store.write(file_texts.put, old)
    hold(
        await store.read(file_texts.find, T, old.digest, 1) is None,
        "a text that has expired is found",
    )
    hold((await purge(store))["file_texts"] >= 1, "a text that has expired is not deleted")
    hold((await purge(store))["file_texts"] == 0, "a text that has expired still exists")


async def _goes_with_its_files(store: Store) -> None:
    """A text is deleted with the last file that has the content, and only its own tenant's."""
    text = _text()
    files = [await _file(store, text.digest) for _ in range(2)]
    await store.write(file_texts.put, text)
    await store.write(file_texts.put, replace(text, tenant=T + "2"))
    await store.write(stored_files.delete, T, files[0].id)
    hold(
        await store.read(file_texts.find, T, text.digest, 1) is not None,
        "the text of another file was deleted",
    )
    await store.write(stored_files.delete, T, files[1].id)
    hold(
        await store.read(file_texts.find, T, text.digest, 1) is None,
        "the text of a deleted file exists",
    )
    hold(
        await store.read(file_texts.find, T + "2", text.digest, 1) is not None,
        "the text of another tenant was deleted",
    )


async def _file(store: Store, digest: bytes) -> StoredFile:
    blob = new_id("blob")
    await store.write(stored_files.begin, T, blob, HOUR)
    await store.put_blob_part(blob, 0, b"content", is_last=True)
    file = StoredFile(new_id("file"), T, "a.pdf", "user_data", 7, digest, blob, int(now()), None)
    stored = await store.write(stored_files.put, file, FileQuota(1_000_000, 10**12))
    hold(stored is not None, "a file was not stored")
    return file
