"""Which jobs and keys a worker gets, beyond what `check_store` holds of every store."""

from collections.abc import AsyncIterator

import pytest

from antiphon.storage.open import open_store
from antiphon.storage.operations import idempotency, jobs, leases
from antiphon.storage.store import Store
from tests.store.making import T, new_response


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


async def queue(store: Store) -> str:
    response = new_response(status="queued")
    await store.write(jobs.enqueue, response, b"", [])
    return response.id


async def test_the_next_job_is_claimed_while_a_living_worker_makes_an_older_one(
    store: Store,
) -> None:
    older = await queue(store)
    newer = await queue(store)
    first = await store.write(jobs.claim, "living", 10)
    await store.write(leases.beat, "living")
    second = await store.write(jobs.claim, "other", 10)

    assert [job and job.response.id for job in (first, second)] == [older, newer]
    assert (await store.read(leases.owned, "living")).keys() == {older}
    assert await store.read(jobs.find_job, T, newer) == second


async def test_a_key_is_taken_from_an_expired_worker_by_another_and_not_by_itself(
    store: Store,
) -> None:
    """Its first request is still being answered."""
    await store.write(idempotency.reserve, T, "key", b"print", "resp_first", "late")
    assert await store.write(leases.expire_worker, "late", 0)
    again = await store.write(idempotency.reserve, T, "key", b"print", "resp_again", "late")
    taken = await store.write(idempotency.reserve, T, "key", b"print", "resp_taken", "other")

    assert [again.response_id, taken.response_id] == ["resp_first", "resp_taken"]


@pytest.mark.parametrize("beats", [0, 2])
async def test_a_silent_worker_expires_once_however_many_watch_it(store: Store, beats: int) -> None:
    await queue(store)
    await store.write(jobs.claim, "silent", 10)
    for _ in range(beats):
        await store.write(leases.beat, "silent")

    assert await store.read(leases.beats) == {"silent": beats}
    assert [await store.write(leases.expire_worker, "silent", beats) for _ in range(2)] == [
        True,
        False,
    ]
    await store.write(leases.beat, "silent")
    assert await store.write(leases.expire_worker, "silent", beats + 1)
