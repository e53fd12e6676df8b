"""What a server whose clock is a day ahead writes has the times of the database's clock, for all other servers."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from antiphon.ids import new_id
from antiphon.storage.contract import (
    Announcement,
    ConsoleSession,
    FileText,
    Store,
    StoredAnswer,
    StoredCompletion,
    StoredLesson,
    StoredProfile,
    StoredUpload,
    VectorStore,
    WebhookEndpoint,
)
from antiphon.storage.postgres.store import PostgresStore
from antiphon.testing.store import containers
from antiphon.testing.store.containers import new_container
from antiphon.testing.store.files import AMPLE, new_file, put
from antiphon.testing.store.making import T, new_response
from tests.support.postgres import Postgres

DAY = 86_400
EVENT = "response.completed"


def ahead() -> float:
    return time.time() + DAY


@pytest.fixture
async def stores(postgres: Postgres) -> AsyncIterator[tuple[Store, Store]]:
    """The store of that server, and that of one whose clock is right."""
    async with postgres.store() as url:
        wrong, right = await PostgresStore.open(url, now=ahead), await PostgresStore.open(url)
        assert await wrong.clock_skew() == pytest.approx(DAY, abs=5)
        assert await right.clock_skew() == pytest.approx(0, abs=5)
        yield wrong, right
        await wrong.close()
        await right.close()


async def a_response(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.save(one := new_response(until=now))
    found = await wrong.load(T, one.id), await right.load(T, one.id)
    return [each and each.expires_at for each in found]


async def a_background_response(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.enqueue(one := new_response(status="queued", until=now), b"", [])
    job = await right.find_job(T, one.id)
    assert job is not None
    endpoint = WebhookEndpoint(new_id("we"), T, "n", "https://a.b", [EVENT], 1, 1, "whsec_x")
    await right.put_endpoint(endpoint)
    await wrong.finish(job, one, announcement=Announcement(new_id("evt"), EVENT, now, b"{}"))
    ended = await right.load(T, one.id)
    (delivery,) = await right.deliveries()
    await wrong.postpone(delivery.id, now, "it failed")
    (postponed,) = await right.deliveries()
    return [job.response.expires_at, ended and ended.expires_at, delivery.created_at, postponed.due_at]


async def a_chat_completion(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.save_completion(
        one := StoredCompletion(new_id("chatcmpl"), b"{}", ("m", "m"), tenant=T, expires_at=now)
    )
    found = await right.load_completion(T, one.id)
    return [found and found.expires_at]


async def a_file(wrong: Store, right: Store, now: int) -> list[int | None]:
    await put(wrong, one := new_file(T, expires_at=now))
    found = await right.load_file(T, one.id)
    await wrong.keep_file_text(FileText(T, one.digest, 1, "pdf", 2, is_cut=False, body=b"text", expires_at=now))
    text = await right.find_file_text(T, one.digest, 1)
    return [found and found.expires_at, text and text.expires_at]


async def an_upload(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = StoredUpload(new_id("upload"), T, "a.txt", "assistants", 10, "text/plain", now, now, None)
    assert await wrong.create_upload(one, AMPLE)
    found = await right.load_upload(T, one.id)
    return [found and found.expires_at]


async def a_session(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = ConsoleSession(b"digest", "key_1", b"key", now, now, now)
    await wrong.put_session(one)
    found = await right.find_session(one.digest)
    await wrong.touch_session(one.digest, now, now)
    touched = await right.find_session(one.digest)
    assert found is not None
    assert touched is not None
    return [found.created_at, found.used_at, found.expires_at, touched.used_at, touched.expires_at]


async def a_container(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = new_container(created_at=now, last_active_at=now)
    assert await wrong.put_container(one, [], containers.AMPLE)
    found = await right.load_container(T, one.id)
    assert found is not None
    return [found.created_at, found.last_active_at]


async def a_vector_store(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.create_vector_store(VectorStore("vs_1", T, now))
    found = await right.find_vector_store(T, "vs_1")
    return [found and found.created_at]


async def a_prompt(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.create_prompt(T, "pmpt_1", b"{}", now, 10)
    first = await right.find_prompt(T, "pmpt_1")
    await wrong.add_prompt_version(T, "pmpt_1", b"{}", now, 10, is_default=True)
    second = await right.find_prompt(T, "pmpt_1")
    return [first and first.created_at, second and second.created_at]


async def a_profile(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.put_profile(StoredProfile("http://a", "m", "", b"{}", now))
    return [one.probed_at for one in await right.profiles()]


async def a_lesson(wrong: Store, right: Store, now: int) -> list[int | None]:
    one, other = (StoredLesson("http://a", "m", T, name, "refused", now) for name in ("a", "b"))
    await right.put_lessons([replace(other, learned_at=now - DAY)], 0)
    await wrong.put_lessons([one], now - 60)  # deletes what was learned before, which is nothing
    found = await right.lessons(now - 60 - DAY)
    assert await wrong.lessons(now - 60) == found
    assert len(found) == 2
    return [each.learned_at for each in found]


KINDS = (
    *(a_response, a_background_response, a_chat_completion, a_file, an_upload, a_session, a_container),
    *(a_vector_store, a_prompt, a_profile, a_lesson),
)


@pytest.mark.parametrize("write", KINDS)
async def test_times_are_those_of_the_database(
    stores: tuple[Store, Store], write: Callable[[Store, Store, int], Awaitable[list[int | None]]]
) -> None:
    """Ten minutes from now, by the clock of each."""
    times = await write(*stores, int(ahead()) + 600)

    assert times == [pytest.approx(time.time() + 600, abs=10)] * len(times)


async def test_what_expires_does_so_by_the_database(stores: tuple[Store, Store]) -> None:
    wrong, right = stores
    now = int(ahead())
    for name, until in ((b"old", now - 60), (b"new", now + 600)):
        await wrong.put_code(name, until)
        await wrong.keep_answer(StoredAnswer(T, name, b"body", now, until))

    assert [await right.find_answer(T, name) for name in (b"old", b"new")] == [None, b"body"]
    assert [await right.redeem_code(name) for name in (b"old", b"new")] == [False, True]


async def test_the_answer_that_was_used_first_goes_first_whoever_says_when(stores: tuple[Store, Store]) -> None:
    wrong, right = stores
    for store, name, now in ((wrong, b"old", int(ahead()) - 600), (right, b"new", int(time.time()))):
        await store.keep_answer(StoredAnswer(T, name, bytes(1000), now, now + 6_000))
    await right.trim_answers(await right.answers_size() - 1)

    assert [await right.find_answer(T, name) is not None for name in (b"old", b"new")] == [False, True]


async def test_a_clock_that_is_off_by_less_than_a_second_is_right(postgres: Postgres) -> None:
    async with postgres.store() as url:
        store = await PostgresStore.open(url, now=lambda: time.time() + 0.3)
        skew = await store.clock_skew()
        await store.save(one := replace(new_response(), expires_at=2_000_000_000))

        assert skew == pytest.approx(0.3, abs=0.6)
        found = await store.load(T, one.id)
        assert found is not None
        assert found.expires_at == 2_000_000_000
        await store.close()
