"""What an operator does to the store: migrate, check, purge, and look at webhooks, on both
stores.
"""

import time
from pathlib import Path

import pytest

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import jobs, vector_stores, webhooks
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, WebhookEndpoint
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore
from tests.store.files import new_file, put
from tests.store.making import T
from tests.store.vector_stores import chunks, claimed, ingested
from tests.support.cli import antiphon
from tests.support.postgres import Postgres


async def test_a_store_is_migrated_checked_and_purged(tmp_path: Path, store_url: str) -> None:
    done = await antiphon(tmp_path, "migrate", "--store", store_url)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("is up to date.\n")
    store = await open_store(store_url)
    for number in range(3):
        await store.save(
            StoredResponse(
                f"resp_{number}", 1, "completed", None, b"{}", expires_at=10 if number else None
            )
        )
    await store.close()
    done = await antiphon(tmp_path, "purge", "--dry-run", "--store", store_url)
    assert (
        "Would delete 2 responses, 0 idempotency keys, 0 webhook deliveries, 0 cached answers"
        in done.out
    )
    assert "Deleted 2 responses" in (await antiphon(tmp_path, "purge", "--store", store_url)).out
    done = await antiphon(tmp_path, "db", "check", "--store", store_url)

    assert done.code == 0
    assert "is intact: 1 responses" in done.out


async def test_a_purge_of_too_much_needs_a_yes(tmp_path: Path, store_url: str) -> None:
    store = await open_store(store_url)
    for number in range(1_002):
        expires_at = 10 if number else None
        await store.save(
            StoredResponse(f"resp_{number}", 1, "completed", None, b"{}", expires_at=expires_at)
        )
    await store.close()
    refused = await antiphon(tmp_path, "purge", "--store", store_url)
    counted = await antiphon(tmp_path, "purge", "--dry-run", "--store", store_url)
    done = await antiphon(tmp_path, "purge", "--yes", "--store", store_url)

    assert (refused.code, refused.out) == (1, "")
    assert all(one in refused.err for one in ("1,001 of about 1,002 ", " 20% "))
    assert "Nothing was deleted." in refused.err
    assert "--yes" in refused.err
    assert "Would delete 1001 responses" in counted.out
    assert "Deleted 1001 responses" in done.out


async def test_a_purge_takes_expired_files_and_vector_stores_with_their_content(
    tmp_path: Path, store_url: str
) -> None:
    store = await open_store(store_url)
    old, new = [new_file(T, content) for content in (b"old", b"new")]
    for file in (old, new):
        await put(store, file)
        await store.put_blob_part(file.blob, 0, b"bytes", is_last=True)
    expired = StoredVectorStore(new_id("vs"), T, 1, days=2)
    stored = StoredVectorStore(new_id("vs"), T, int(time.time()))
    for one, files in ((expired, [new]), (stored, [old, new])):
        await store.write(vector_stores.create, one, [NewAttachment(file.id) for file in files])
        for _ in files:
            assert await ingested(store, await claimed(store, "w"))
    await put(store, removed := new_file(T, b"gone", expires_at=10))
    await store.put_blob_part(removed.blob, 0, b"bytes", is_last=True)
    await store.write(stored_files.delete, T, old.id)
    await store.close()
    counted = await antiphon(tmp_path, "purge", "--dry-run", "--store", store_url)
    done = await antiphon(tmp_path, "purge", "--store", store_url)
    store = await open_store(store_url)
    contents = [await store.blob_part(file.blob, 0) for file in (old, removed, new)]
    found = [await chunks(store, one.id) for one in (expired, stored)]
    await store.close()

    assert [words in counted.out for words in ("1 files", "1 vector stores")] == [True, True]
    assert [words in done.out for words in ("1 files", "1 vector stores")] == [True, True]
    assert contents == [None, None, b"bytes"]
    assert found == [0, 1]


async def test_keys_of_both_kinds_are_distinguished(tmp_path: Path, store_url: str) -> None:
    await antiphon(tmp_path, "keys", "create", "--store", store_url)
    checked = await antiphon(tmp_path, "db", "check", "--store", store_url)
    purged = await antiphon(tmp_path, "purge", "--dry-run", "--store", store_url)

    assert (checked.code, purged.code) == (0, 0)
    assert ", 0 idempotency keys," in checked.out
    assert ", 1 API keys," in checked.out
    assert ", 0 idempotency keys," in purged.out
    assert "API" not in purged.out


async def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    store = await open_store(url)
    await store.save(StoredResponse("resp_1", 1, "completed", None, b"x" * 200_000))
    await store.close()
    path = tmp_path / "a.db"
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    done = await antiphon(tmp_path, "db", "check", "--store", url)

    assert done.code in (1, 2)
    assert "damaged" in done.err
    assert "Traceback" not in done.err


@pytest.mark.wide
async def test_a_password_is_never_displayed(tmp_path: Path, postgres: Postgres) -> None:
    url = (await postgres.database()).replace("postgres@", "postgres:sk-secret@")
    for command in (["migrate"], ["db", "check"], ["purge"], ["webhooks", "deliveries"]):
        done = await antiphon(tmp_path, *command, "--store", url)
        assert done.code == 0
        assert "sk-secret" not in done.out + done.err
    done = await antiphon(tmp_path, "migrate", "--store", "postgresql://u:sk-secret@127.0.0.1:1/x")
    assert (done.code, "sk-secret" in done.err) == (2, False)


async def test_deliveries_that_wait_are_listed(tmp_path: Path, store_url: str) -> None:
    assert (
        "All webhooks were delivered."
        in (await antiphon(tmp_path, "webhooks", "deliveries", "--store", store_url)).out
    )
    store = await open_store(store_url)
    await store.write(
        webhooks.put,
        WebhookEndpoint(
            "we_1", "", "n", "https://a.b", ["response.completed"], 1, 1, "whsec_secret"
        ),
    )
    queued = StoredResponse("resp_1", 1, "queued", None, b"{}")
    await store.write(jobs.enqueue, queued, b"", [])
    job = await store.read(jobs.find_job, "", "resp_1")
    assert job is not None
    await store.write(
        jobs.finish, job, queued, announcement=Announcement("evt_1", "response.completed", 1, b"{}")
    )
    (delivery,) = await store.write(webhooks.due, 1)
    await store.write(webhooks.postpone, delivery.id, None, "it answered with status 500")
    await store.close()
    done = await antiphon(tmp_path, "webhooks", "deliveries", "--store", store_url)

    for words in ("we_1", "response.completed", "failed", "status 500"):
        assert words in done.out
    assert "whsec" not in done.out


@pytest.mark.parametrize(
    "command", [["migrate"], ["db", "check"], ["purge"], ["webhooks", "deliveries"]]
)
async def test_a_store_that_cannot_be_opened_is_reported_on_one_line(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "a.db").write_text("no database at all, but long enough to look like a file " * 20)
    done = await antiphon(tmp_path, *command, "--store", f"sqlite://{tmp_path}/a.db")

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is not an SQLite database" in done.err
