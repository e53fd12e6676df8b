"""Which changes a store tells: whoever waits for a response, for jobs or for files hears of them at
once.
"""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from antiphon.storage.changes import INGESTIONS, JOBS
from antiphon.storage.operations import (
    conversations,
    idempotency,
    ingestions,
    leases,
    vector_stores,
)
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.records.jobs import Progress
from antiphon.storage.records.responses import StoredConversation
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from tests.store.files import new_file, put
from tests.store.making import T, new_response


class Notices(list[str]):
    """What was told since it was last asked."""

    def since(self) -> list[str]:
        reported = list(self)
        self.clear()
        return reported


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = SqliteStore.open("sqlite://")
    yield opened
    await opened.close()


@pytest.fixture
def reported(store: Store) -> Notices:
    received = Notices()
    store.on_change(received.append)
    return received


async def test_each_step_of_a_background_response_is_reported(
    store: Store, reported: Notices
) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    assert reported.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "worker", 10)
    assert job is not None
    assert reported.since() == []
    await store.write(leases.give_back, "worker", one.id)
    assert reported.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "worker", 10)
    assert job is not None
    await store.write(stored_jobs.advance, job, Progress())
    assert reported.since() == [one.id]
    job = await store.read(stored_jobs.find_job, T, one.id)
    assert job is not None
    assert await store.write(stored_jobs.finish, job, one)
    assert reported.since() == [one.id]


async def test_jobs_of_a_dead_worker_are_notified_on_expiry_and_when_claimed(
    store: Store, reported: Notices
) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    await store.write(stored_jobs.claim, "lost", 10)
    reported.since()
    assert not await store.write(leases.expire_worker, "lost", 7)
    assert reported.since() == []
    assert await store.write(leases.expire_worker, "lost", 0)
    assert reported.since() == [one.id, JOBS]
    job = await store.write(stored_jobs.claim, "other", 10)
    assert (job and job.crashes, reported.since()) == (1, [one.id])


async def test_jobs_returned_by_a_stopping_worker_are_notified(
    store: Store, reported: Notices
) -> None:
    one = new_response(status="queued")
    await store.write(stored_jobs.enqueue, one, b"", [])
    await store.write(stored_jobs.claim, "worker", 10)
    reported.since()
    await store.write(leases.expire_worker, "worker", None)
    assert reported.since() == [one.id, JOBS]
    await store.write(leases.expire_worker, "worker", None)
    assert reported.since() == []


async def test_releasing_a_conversation_or_a_key_is_notified(
    store: Store, reported: Notices
) -> None:
    await store.write(conversations.create, StoredConversation("conv_1", 1, b"{}", T), [])
    assert reported.since() == [""]
    await store.write(leases.hold, T, "conv_1", "resp_1", "worker")
    await store.write(idempotency.reserve, T, "key", b"", "resp_1", "worker")
    reported.since()
    await store.write(leases.release, "worker", "resp_1")
    assert reported.since() == ["resp_1"]
    await store.write(idempotency.free, T, "key", "resp_1")
    assert reported.since() == ["resp_1"]


async def test_only_a_response_with_a_conversation_or_a_key_is_notified_when_saved(
    store: Store, reported: Notices
) -> None:
    plain = new_response()
    keyed = new_response()
    await store.save(plain)
    assert reported.since() == []
    await store.write(idempotency.reserve, T, "key", b"", keyed.id, "worker")
    reported.since()
    assert await store.save(keyed, reply=StoredReply(T, "key", False, b"{}"))
    assert reported.since() == [keyed.id]


async def test_waiting_files_are_reported(store: Store, reported: Notices) -> None:
    file, other = [await put(store, new_file(T, content)) for content in (b"one", b"other")]
    assert file is not None
    assert other is not None
    reported.since()
    await store.write(vector_stores.create, StoredVectorStore("vs_1", T, 1))
    assert reported.since() == []
    await store.write(vector_stores.attach, T, "vs_1", [NewAttachment(file.id)])
    assert reported.since() == [INGESTIONS]
    await store.write(vector_stores.attach, T, "vs_unknown", [NewAttachment(file.id)])
    assert reported.since() == []
    await store.write(
        vector_stores.create, StoredVectorStore("vs_2", T, 1), [NewAttachment(other.id)]
    )
    assert reported.since() == [INGESTIONS]
    claimed = await store.write(ingestions.claim, "worker", 10)
    assert claimed is not None
    await store.write(ingestions.release, "worker", claimed.seq)
    assert reported.since() == [INGESTIONS]
    await store.write(ingestions.release, "worker", claimed.seq)
    assert reported.since() == []


async def test_every_listener_is_notified(store: Store, reported: Notices) -> None:
    second = Notices()
    store.on_change(second.append)
    await store.write(stored_jobs.enqueue, one := replace(new_response(), status="queued"), b"", [])
    assert reported == second == [one.id, JOBS]
