"""Which changes a store tells: whoever waits for a response, for jobs or for files hears of them at once."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from antiphon.storage.changes import INGESTIONS, JOBS
from antiphon.storage.operations import conversations, idempotency, ingestions, leases, vector_stores
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.records.jobs import Progress
from antiphon.storage.records.responses import StoredConversation
from antiphon.storage.records.tenants import Reply
from antiphon.storage.records.vector_stores import NewStoreFile, VectorStore
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from tests.store.files import new_file, put
from tests.store.making import T, new_response


class Told(list[str]):
    """What was told since it was last asked."""

    def since(self) -> list[str]:
        told = list(self)
        self.clear()
        return told


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = SqliteStore.open("sqlite://")
    yield opened
    await opened.close()


@pytest.fixture
def told(store: Store) -> Told:
    heard = Told()
    store.on_change(heard.append)
    return heard


async def test_each_step_of_a_background_response_is_told(store: Store, told: Told) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    assert told.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "worker", 10)
    assert job is not None
    assert told.since() == []
    await store.write(leases.give_back, "worker", one.id)
    assert told.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "worker", 10)
    assert job is not None
    await store.write(stored_jobs.advance, job, Progress())
    assert told.since() == [one.id]
    job = await store.read(stored_jobs.find_job, T, one.id)
    assert job is not None
    assert await store.write(stored_jobs.finish, job, one)
    assert told.since() == [one.id]


async def test_what_a_lost_worker_had_is_told_when_it_expires_and_when_another_claims_it(
    store: Store, told: Told
) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    await store.write(stored_jobs.claim, "lost", 10)
    told.since()
    assert not await store.write(leases.expire_worker, "lost", 7)
    assert told.since() == []
    assert await store.write(leases.expire_worker, "lost", 0)
    assert told.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "other", 10)
    assert (job and job.lost, told.since()) == (1, [one.id])


async def test_what_a_worker_gives_back_at_its_end_is_told(store: Store, told: Told) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    await store.write(stored_jobs.claim, "worker", 10)
    told.since()
    await store.write(leases.expire_worker, "worker", None)
    assert told.since() == [one.id, JOBS]
    await store.write(leases.expire_worker, "worker", None)
    assert told.since() == []


async def test_what_frees_a_conversation_or_a_key_is_told(store: Store, told: Told) -> None:
    await store.write(conversations.create, StoredConversation("conv_1", 1, b"{}", T), [])
    assert told.since() == [""]
    await store.write(leases.hold, T, "conv_1", "resp_1", "worker")
    await store.write(idempotency.reserve, T, "key", b"", "resp_1", "worker")
    told.since()
    await store.write(leases.release, "worker", "resp_1")
    assert told.since() == ["resp_1"]
    await store.write(idempotency.free, T, "key", "resp_1")
    assert told.since() == ["resp_1"]


async def test_only_a_response_with_a_conversation_or_a_key_is_told_when_it_is_saved(store: Store, told: Told) -> None:
    plain, keyed = new_response(), new_response()
    await store.save(plain)
    assert told.since() == []
    await store.write(idempotency.reserve, T, "key", b"", keyed.id, "worker")
    told.since()
    assert await store.save(keyed, reply=Reply(T, "key", False, b"{}"))
    assert told.since() == [keyed.id]


async def test_files_that_wait_are_told(store: Store, told: Told) -> None:
    file, other = [await put(store, new_file(T, content)) for content in (b"one", b"other")]
    assert file is not None
    assert other is not None
    told.since()
    await store.write(vector_stores.create, VectorStore("vs_1", T, 1))
    assert told.since() == []
    await store.write(vector_stores.attach, T, "vs_1", [NewStoreFile(file.id)])
    assert told.since() == [INGESTIONS]
    await store.write(vector_stores.attach, T, "vs_unknown", [NewStoreFile(file.id)])
    assert told.since() == []
    await store.write(vector_stores.create, VectorStore("vs_2", T, 1), [NewStoreFile(other.id)])
    assert told.since() == [INGESTIONS]
    claimed = await store.write(ingestions.claim, "worker", 10)
    assert claimed is not None
    await store.write(ingestions.release, "worker", claimed.seq)
    assert told.since() == [INGESTIONS]
    await store.write(ingestions.release, "worker", claimed.seq)
    assert told.since() == []


async def test_everybody_who_listens_is_told(store: Store, told: Told) -> None:
    second = Told()
    store.on_change(second.append)
    await store.write(stored_jobs.enqueue, one := replace(new_response(), status="queued"), b"", [])
    assert told == second == [one.id, JOBS]
