"""What deletes expired responses, and what keeps it from doing so, on both stores."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.ids import Clock, new_id
from antiphon.jobs import cleaner as cleaners
from antiphon.jobs.cleaner import Cleaner, objection
from antiphon.objects.files import Files
from antiphon.status.upkeep import Upkeep
from antiphon.storage.blobs.places import Places
from antiphon.storage.blobs.rows import StoreBlobs
from antiphon.storage.blobs.turns import part_turns
from antiphon.storage.containers import find_container
from antiphon.storage.operations import (
    chat_completions,
    containers,
    expiry,
    idempotency,
    jobs,
    responses,
    sizes,
)
from antiphon.storage.operations import files as stored_files
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.chat_completions import StoredCompletion
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.sqlite import clock as clocks
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import expire_containers, purge
from tests.store.containers import AMPLE, expired_container, new_container, written
from tests.store.files import new_file, put

DAY = 86_400
FREE = 5
"""Responses that a purge of these tests may delete in any case."""


@pytest.fixture(autouse=True)
def small_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.storage.operations.expiry.PURGED_FREELY", FREE)


async def opened(url: str, now: Clock = time.time) -> Store:
    """The store, as a process with this clock opens it."""
    return (
        SqliteStore.open(url, now=now)
        if url.startswith("sqlite")
        else await PostgresStore.open(url, now=now)
    )


def ahead(seconds: float) -> Clock:
    return lambda: time.time() + seconds


async def fill(store: Store, expired: int, living: int, in_days: float = 10) -> None:
    until = int(time.time()) - 10, int(time.time() + in_days * DAY)
    for number in range(expired + living):
        expires_at = until[number >= expired]
        await store.save(
            StoredResponse(f"resp_{number}", 1, "completed", None, b"{}", expires_at=expires_at)
        )


async def count(store: Store) -> int:
    return (await store.inspect())["responses"]


@pytest.mark.wide("postgres")
async def test_it_deletes_what_has_expired_once_a_minute(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(store_url)
    upkeep = Upkeep()
    await fill(store, 3, 2)
    cleaner = Cleaner(store, 0.2, upkeep)
    await cleaner.poll_once()
    assert await count(store) == 2
    await store.save(StoredResponse("resp_late", 1, "completed", None, b"{}", expires_at=10))
    await cleaner.poll_once()
    assert await count(store) == 3
    monkeypatch.setattr(cleaners, "PURGE_EVERY", 0.0)
    await cleaner.poll_once()
    assert (await count(store), upkeep) == (2, Upkeep(upkeep.clock_skew, 0))
    await store.close()


async def test_a_too_large_purge_is_withheld_and_reported_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cleaners, "PURGE_EVERY", 0.0)
    store = await opened(store_url)
    upkeep = Upkeep()
    await fill(store, FREE + 3, 14)
    cleaner = Cleaner(store, 0.3, upkeep)
    await cleaner.poll_once()
    await cleaner.poll_once()
    assert (await count(store), upkeep.purge_held) == (FREE + 17, 7)
    reported = [one.message for one in caplog.records if "can delete" in one.message]
    assert len(reported) == 1
    assert "At least 7 of about 22 stored responses" in reported[0]
    assert "`antiphon purge --yes`" in reported[0]
    assert "At least 7 of about 22 stored responses" in (await objection(store, 0.3) or "")
    assert await objection(store, 0.4) is None

    await Cleaner(store, 0.4, upkeep).poll_once()
    assert (await count(store), upkeep.purge_held) == (14, 0)
    await store.close()


async def test_chat_completions_count_towards_a_purge_of_too_much(store_url: str) -> None:
    store = await opened(store_url)
    later = int(time.time()) + DAY
    for number, expires_at in enumerate((10, 10, 10, later)):
        await store.save(
            StoredResponse(f"r{number}", 1, "completed", None, b"{}", expires_at=expires_at)
        )
        await store.write(
            chat_completions.save,
            StoredCompletion(f"c{number}", b"{}", ("m", "m"), expires_at=expires_at),
        )
    size = await store.write(expiry.purge_size, 0.75)
    assert (size.expired, size.total) == (6, 8)
    await store.close()


async def test_unstored_background_work_may_go_however_much_it_is(store_url: str) -> None:
    store = await opened(store_url)
    for number in range(20):
        await store.save(
            StoredResponse(f"r{number}", 1, "completed", None, b"{}", expires_at=10, is_stored=True)
        )
    for number in range(20):
        queued = StoredResponse(
            f"q{number}", 1, "queued", None, b"{}", expires_at=10, is_stored=False
        )
        await store.write(jobs.enqueue, queued, b"", [])
        job = await store.read(jobs.find_job, "", f"q{number}")
        assert job is not None
        await store.write(jobs.finish, job, queued)
    size = await store.write(expiry.purge_size, 0.5)
    assert (size.expired, size.total, size.is_too_large) == (20, 40, False)
    assert (await store.write(expiry.purge_size, 0.4)).is_too_large
    await store.close()


@pytest.mark.parametrize("days", [40, -40])
async def test_a_server_with_a_wrong_clock_deletes_nothing_and_reports_it(
    store_url: str, days: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cleaners, "PURGE_EVERY", 0.0)
    good = await opened(store_url)
    bad = await opened(store_url, ahead(days * DAY))
    await fill(good, FREE, 20)
    mine = Cleaner(good, 1, Upkeep())
    upkeep = Upkeep()
    theirs = Cleaner(bad, 1, upkeep)
    monkeypatch.setattr(cleaners, "PURGE_EVERY", 3600.0)
    await mine.poll_once()  # deletes what has expired
    for _ in range(3):
        await theirs.poll_once()
        await mine.poll_once()

    assert await count(good) == 20
    assert upkeep.clock_skew == pytest.approx(days * DAY, abs=60)
    (reported,) = [one.message for one in caplog.records if "clock" in one.message]
    assert reported.startswith("This server's clock is 34")
    assert ("ahead of" if days > 0 else "behind") in reported
    for store in (good, bad):
        assert await store.read(responses.load, "", f"resp_{FREE}") is not None, (
            "an acknowledged response vanished"
        )
    await bad.save(
        StoredResponse(
            "resp_bad", 1, "completed", None, b"{}", expires_at=int(time.time()) + days * DAY + 99
        )
    )
    found = await good.read(responses.load, "", "resp_bad")
    assert found is not None
    assert found.expires_at == pytest.approx(time.time() + 99, abs=60), (
        "it expires by a wrong clock"
    )
    for store in (good, bad):
        await store.close()


async def test_idempotency_keys_of_a_wrong_clock_last_a_day(store_url: str) -> None:
    good = await opened(store_url)
    bad = await opened(store_url, ahead(40 * DAY))
    await good.clock_skew()
    await bad.clock_skew()
    await good.clock_skew()
    await bad.clock_skew()
    await good.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    await good.save(
        StoredResponse("resp_1", 1, "completed", None, b"{}", expires_at=int(time.time()) + DAY),
        reply=StoredReply("", "key", False, b"reply"),
    )
    found = await bad.write(idempotency.reserve, "", "key", b"print", "resp_2", "w")
    assert found.response_id == "resp_1"
    assert await good.write(expiry.purge_size, 0.01) == await bad.write(expiry.purge_size, 0.01)
    assert (await purge(bad))["keys"] == 0
    for store in (good, bad):
        await store.close()


async def test_a_command_deletes_nothing_by_a_wrong_clock(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaners, "POLL_INTERVAL", 0.02)
    good = await opened(store_url)
    await fill(good, 1, 9)
    await good.clock_skew()
    bad = await opened(store_url, ahead(40 * DAY))
    if store_url.startswith("sqlite"):
        assert await bad.clock_skew() is None  # it asks
        await good.clock_skew()
    found = await objection(bad, 1)
    assert found is not None
    assert found.startswith("This server's clock is 34")
    assert found.endswith(" s ahead of the store's.")
    assert await objection(good, 1) is None
    for store in (good, bad):
        await store.close()


async def test_a_command_waits_until_the_clock_can_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cleaners, "POLL_INTERVAL", 0.0)
    store = SqliteStore.open("sqlite://")
    skews = [None, None, 40.0 * DAY]

    async def skew() -> float | None:
        return skews.pop(0)

    monkeypatch.setattr(store, "clock_skew", skew)
    found = await objection(store, 1)
    assert found is not None
    assert "ahead of the store's" in found
    await store.close()


async def test_an_unused_file_is_purged_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is old: whether this clock is right is known once no other server answers."""
    url = f"sqlite://{tmp_path}/a.db"
    at = 0.0
    monkeypatch.setattr("antiphon.storage.sqlite.store.ticks", lambda: at)
    before = await opened(url)
    await fill(before, 1, 2)
    await before.clock_skew()
    await before.close()
    store = await opened(url, ahead(3 * DAY))
    cleaner = Cleaner(store, 1, Upkeep())
    polls = 0
    while await count(store) == 3:
        await cleaner.poll_once()
        at += cleaners.POLL_INTERVAL
        polls += 1
    assert polls * cleaners.POLL_INTERVAL == pytest.approx(
        clocks.ALONE, abs=2 * cleaners.POLL_INTERVAL
    )
    await store.close()


async def test_it_deletes_content_that_no_file_has(store_url: str) -> None:
    store = await opened(store_url)
    expired = new_file("t", b"old", int(time.time()) - 1)
    living = new_file("t", b"new")
    for file in (expired, living):
        await put(store, file)
    await store.write(stored_files.begin, "t", abandoned := new_id("row"), -1)
    files = Files(store, StoreBlobs(store, part_turns()))
    for blob in (expired.blob, living.blob, abandoned):
        await store.put_blob_part(blob, 0, b"bytes", is_last=True)
    await Cleaner(store, 1, Upkeep(), delete_blobs=files.delete_blobs).poll_once()
    left = [await store.blob_part(blob, 0) for blob in (expired.blob, living.blob, abandoned)]
    assert left == [None, b"bytes", None]
    assert await store.write(stored_files.claim_stale, 10) == []
    await store.close()


async def test_it_drops_the_files_of_containers_that_have_expired(store_url: str) -> None:
    store = await opened(store_url)
    old = expired_container("t")
    young = new_container("t")
    files = Files(store, StoreBlobs(store, part_turns()))
    for container in (old, young):
        (file,) = await written(store, container, "a.csv")
        await store.put_blob_part(file.blob, 0, b"bytes", is_last=True)
        await store.write(containers.put, container, [file], AMPLE)
    await Cleaner(store, 1, Upkeep(), delete_blobs=files.delete_blobs).poll_once()
    assert await store.read(sizes.stored_bytes, "t") == 10
    displayed = [await find_container(store, "t", one.id) for one in (old, young)]
    assert [one and one.status for one in displayed] == ["expired", "running"]
    assert await store.write(stored_files.claim_stale, 10) == []
    await store.close()


async def test_a_withheld_purge_still_drops_expired_containers(store_url: str) -> None:
    store = await opened(store_url)
    await fill(store, FREE + 3, 14)
    old = expired_container("t")
    await store.write(containers.put, old, await written(store, old, "a.csv"), AMPLE)
    await Cleaner(store, 0.3, Upkeep()).poll_once()
    assert (await count(store), await store.read(sizes.stored_bytes, "t")) == (FREE + 17, 0)
    await store.close()


async def test_a_server_without_containers_writes_nothing_for_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = await opened(f"sqlite://{path}")
    with closing(sqlite3.connect(path)) as other:
        before = other.execute("PRAGMA data_version").fetchone()
        await expire_containers(store, 10)
        assert other.execute("PRAGMA data_version").fetchone() == before
    await store.close()


async def test_content_that_cannot_be_deleted_waits_and_keeps_no_other(store_url: str) -> None:
    store = await opened(store_url)
    names = new_id("obj"), new_id("row")
    for name in names:
        await store.write(stored_files.begin, "t", name, -1)
    await store.put_blob_part(names[1], 0, b"bytes", is_last=True)
    files = Files(store, Places({"row": StoreBlobs(store, part_turns())}, "row"))
    await Cleaner(store, 1, Upkeep(), delete_blobs=files.delete_blobs).poll_once()
    assert await store.blob_part(names[1], 0) is None
    assert await store.write(stored_files.claim_stale, 10) == []
    later = await opened(store_url, ahead(7200))
    assert await later.write(stored_files.claim_stale, 10) == [names[0]]
    await later.close()
    await store.close()
