"""What a server whose clock is a day ahead writes has the times of the database's clock, for all
other servers.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.answers import find_answer
from antiphon.storage.containers import find_container
from antiphon.storage.operations import (
    answers,
    api_keys,
    chat_completions,
    deferred,
    file_texts,
    files,
    jobs,
    lessons,
    profiles,
    prompts,
    responses,
    sessions,
    uploads,
    vector_stores,
    webhooks,
)
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.chat_completions import StoredCompletion
from antiphon.storage.records.files import FileText, StoredUpload
from antiphon.storage.records.jobs import Deferral
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.records.tenants import Announcement, ApiKey, StoredAnswer, WebhookEndpoint
from antiphon.storage.records.vector_stores import StoredVectorStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import trim_answers
from tests.store import containers
from tests.store.containers import new_container
from tests.store.files import AMPLE, new_file, put
from tests.store.making import T, new_response
from tests.support.postgres import Postgres

DAY = 86_400
EVENT = "response.completed"


def ahead() -> float:
    return time.time() + DAY


@pytest.fixture
async def stores(postgres: Postgres) -> AsyncIterator[tuple[Store, Store]]:
    """The store of that server, and that of one whose clock is right."""
    async with postgres.store() as url:
        wrong = await PostgresStore.open(url, now=ahead)
        right = await PostgresStore.open(url)
        assert await wrong.clock_skew() == pytest.approx(DAY, abs=5)
        assert await right.clock_skew() == pytest.approx(0, abs=5)
        yield wrong, right
        await wrong.close()
        await right.close()


async def a_response(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.save(one := new_response(until=now))
    found = await wrong.read(responses.load, T, one.id), await right.read(responses.load, T, one.id)
    return [each and each.expires_at for each in found]


async def a_background_response(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.write(jobs.enqueue, one := new_response(status="queued", until=now), b"", [])
    job = await right.read(jobs.find_job, T, one.id)
    assert job is not None
    endpoint = WebhookEndpoint(new_id("we"), T, "n", "https://a.b", [EVENT], 1, 1, "whsec_x")
    await right.write(webhooks.put, endpoint)
    await wrong.write(
        jobs.finish, job, one, announcement=Announcement(new_id("evt"), EVENT, now, b"{}")
    )
    ended = await right.read(responses.load, T, one.id)
    (delivery,) = await right.read(webhooks.deliveries)
    await wrong.write(webhooks.postpone, delivery.id, now, "it failed")
    (postponed,) = await right.read(webhooks.deliveries)
    return [
        job.response.expires_at,
        ended and ended.expires_at,
        delivery.created_at,
        postponed.due_at,
    ]


async def a_webhook(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = WebhookEndpoint(new_id("we"), T, "n", "https://a.b", [EVENT], 1, 1, "s", "old", now)
    await wrong.write(webhooks.put, one)
    assert await wrong.read(webhooks.load, T, one.id) == one
    found = await right.read(webhooks.load, T, one.id)
    return [found and found.old_secret_until]


async def an_api_key(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = ApiKey(new_id("key"), T, "n", b"digest", "sk", now, now, None, b"old", now)
    await wrong.write(api_keys.put, one)
    assert await wrong.read(api_keys.load, one.id) == one
    found = await right.read(api_keys.load, one.id)
    assert found is not None
    return [found.created_at, found.expires_at, found.old_until]


async def a_chat_completion(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.write(
        chat_completions.save,
        one := StoredCompletion(new_id("chatcmpl"), b"{}", ("m", "m"), tenant=T, expires_at=now),
    )
    found = await right.read(chat_completions.load, T, one.id)
    return [found and found.expires_at]


async def a_file(wrong: Store, right: Store, now: int) -> list[int | None]:
    await put(wrong, one := new_file(T, expires_at=now))
    found = await right.read(files.load, T, one.id)
    await wrong.write(
        file_texts.put,
        FileText(T, one.digest, 1, "pdf", 2, is_cut=False, body=b"text", expires_at=now),
    )
    text = await right.read(file_texts.find, T, one.digest, 1)
    return [found and found.expires_at, text and text.expires_at]


async def an_upload(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = StoredUpload(new_id("upload"), T, "a.txt", "assistants", 10, "text/plain", now, now, None)
    assert await wrong.write(uploads.create, one, AMPLE)
    found = await right.read(uploads.load, T, one.id)
    return [found and found.expires_at]


async def a_session(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = ConsoleSession(b"digest", "key_1", b"key", now, now, now)
    await wrong.write(sessions.put, one)
    found = await right.read(sessions.find, one.digest)
    await wrong.write(sessions.touch, one.digest, now, now)
    touched = await right.read(sessions.find, one.digest)
    assert found is not None
    assert touched is not None
    return [found.created_at, found.used_at, found.expires_at, touched.used_at, touched.expires_at]


async def a_container(wrong: Store, right: Store, now: int) -> list[int | None]:
    one = new_container(created_at=now, last_active_at=now)
    assert await wrong.write(stored_containers.put, one, [], containers.AMPLE)
    found = await find_container(right, T, one.id)
    assert found is not None
    return [found.created_at, found.last_active_at]


async def a_vector_store(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.write(vector_stores.create, StoredVectorStore("vs_1", T, now))
    found = await right.read(vector_stores.find, T, "vs_1")
    return [found and found.created_at]


async def a_prompt(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.write(prompts.create, T, "pmpt_1", b"{}", now, 10)
    first = await right.read(prompts.find, T, "pmpt_1")
    await wrong.write(prompts.add_version, T, "pmpt_1", b"{}", now, 10, is_default=True)
    second = await right.read(prompts.find, T, "pmpt_1")
    return [first and first.created_at, second and second.created_at]


async def a_profile(wrong: Store, right: Store, now: int) -> list[int | None]:
    await wrong.write(profiles.put, StoredProfile("http://a", "m", "", b"{}", now))
    return [one.probed_at for one in await right.read(profiles.every)]


async def a_lesson(wrong: Store, right: Store, now: int) -> list[int | None]:
    one, other = (StoredLesson("http://a", "m", T, name, "refused", now) for name in ("a", "b"))
    await right.write(lessons.put, [replace(other, learned_at=now - DAY)], 0)
    await wrong.write(
        lessons.put, [one], now - 60
    )  # deletes what was learned before, which is nothing
    found = await right.read(lessons.every, now - 60 - DAY)
    assert len(found) == 2
    return [each.learned_at for each in found]


KINDS = (
    *(
        a_response,
        a_background_response,
        a_webhook,
        an_api_key,
        a_chat_completion,
        a_file,
        an_upload,
        a_session,
        a_container,
    ),
    *(a_vector_store, a_prompt, a_profile, a_lesson),
)


@pytest.mark.parametrize("write", KINDS)
async def test_times_are_those_of_the_database(
    stores: tuple[Store, Store], write: Callable[[Store, Store, int], Awaitable[list[int | None]]]
) -> None:
    """Ten minutes from now, by the clock of each."""
    times = await write(*stores, int(ahead()) + 600)

    assert times == [pytest.approx(time.time() + 600, abs=10)] * len(times)


async def read_session(store: Store) -> list[int | None]:
    found = await store.read(sessions.find, b"digest")
    return [found and found.used_at]


async def read_profile(store: Store) -> list[int | None]:
    return [one.probed_at for one in await store.read(profiles.every)]


async def read_lesson(store: Store) -> list[int | None]:
    return [one.learned_at for one in await store.read(lessons.every, 0)]


async def read_deferred_job(store: Store) -> list[int | None]:
    page = await store.read(deferred.page, T, 10)
    return [one.begin_by for one in page.data]


async def read_delivery(store: Store) -> list[int | None]:
    return [one.created_at for one in await store.read(webhooks.deliveries)]


@pytest.mark.parametrize(
    "read", [read_session, read_profile, read_lesson, read_deferred_job, read_delivery]
)
async def test_a_server_compares_times_with_its_own_clock(
    stores: tuple[Store, Store], read: Callable[[Store], Awaitable[list[int | None]]]
) -> None:
    """Each server reads what happens in ten minutes at ten minutes from now, by its own clock."""
    wrong, right = stores
    soon = int(time.time()) + 600
    await right.write(sessions.put, ConsoleSession(b"digest", "key_1", b"key", soon, soon, soon))
    await right.write(profiles.put, StoredProfile("http://a", "m", "", b"{}", soon))
    await right.write(lessons.put, [StoredLesson("http://a", "m", T, "a", "refused", soon)], 0)
    queued = new_response(status="queued")
    await right.write(jobs.enqueue, queued, b"", [], deferral=Deferral(soon, ""))
    endpoint = WebhookEndpoint(new_id("we"), T, "n", "https://a.b", [EVENT], 1, 1, "s")
    await right.write(webhooks.put, endpoint)
    job = await right.read(jobs.find_job, T, queued.id)
    if read is read_delivery and job is not None:
        event = Announcement(new_id("evt"), EVENT, soon, b"{}")
        await right.write(jobs.finish, job, queued, announcement=event)

    assert await read(right) == [pytest.approx(soon, abs=10)]
    assert await read(wrong) == [pytest.approx(soon + DAY, abs=10)]


async def test_what_expires_does_so_by_the_database(stores: tuple[Store, Store]) -> None:
    wrong, right = stores
    now = int(ahead())
    for name, until in ((b"old", now - 60), (b"new", now + 600)):
        await wrong.write(sessions.put_code, name, until)
        await wrong.write(answers.put, StoredAnswer(T, name, b"body", now, until))

    assert [await find_answer(right, T, name) for name in (b"old", b"new")] == [None, b"body"]
    assert [await right.write(sessions.redeem_code, name) for name in (b"old", b"new")] == [
        False,
        True,
    ]


async def test_the_least_recently_used_answer_is_evicted_first_whatever_the_clock(
    stores: tuple[Store, Store],
) -> None:
    wrong, right = stores
    for store, name, now in (
        (wrong, b"old", int(ahead()) - 600),
        (right, b"new", int(time.time())),
    ):
        await store.write(answers.put, StoredAnswer(T, name, bytes(1000), now, now + 6_000))
    await trim_answers(right, await right.read(answers.size) - 1)

    assert [await find_answer(right, T, name) is not None for name in (b"old", b"new")] == [
        False,
        True,
    ]


async def test_a_clock_that_is_off_by_less_than_a_second_is_right(postgres: Postgres) -> None:
    async with postgres.store() as url:
        store = await PostgresStore.open(url, now=lambda: time.time() + 0.3)
        skew = await store.clock_skew()
        await store.save(one := replace(new_response(), expires_at=2_000_000_000))

        assert skew == pytest.approx(0.3, abs=0.6)
        found = await store.read(responses.load, T, one.id)
        assert found is not None
        assert found.expires_at == 2_000_000_000
        await store.close()
