"""What expires at a second is there until the second before, and gone from that second on, on both
stores.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest

from antiphon.errors import StoreError
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.answers import find_answer
from antiphon.storage.containers import find_container
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import (
    answers,
    chat_completions,
    event_log,
    expiry,
    files,
    idempotency,
    jobs,
    pages,
    responses,
    webhooks,
)
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.operations import vector_stores as stored_vector_stores
from antiphon.storage.operations.idempotency import RETAINED
from antiphon.storage.operations.step import FEW_BYTES
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.containers import ContainerQuery
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredItem, StoredResponse
from antiphon.storage.records.tenants import Announcement, StoredAnswer, WebhookEndpoint
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import STORED_FAILURES, expire_containers, purge
from tests.store import containers
from tests.store.containers import new_container, written
from tests.store.files import AMPLE, new_file
from tests.support.changed_stores import replace_operation

END = 1_700_000_000
EVENT = "response.completed"

OLD, ENDS, NEW, LAST = (StoredItem(f"msg_{name}", b"{}") for name in ("old", "ends", "new", "last"))


class Clock:
    """Says these times, the last of them again and again."""

    def __init__(self) -> None:
        self.times = [END - 1]

    def __call__(self) -> int:
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reads() -> FairScheduler:
    """Large reads: one at once, and none waits."""
    return FairScheduler(1, 0)


@pytest.fixture
async def store(store_url: str, clock: Clock, reads: FairScheduler) -> AsyncIterator[Store]:
    opened: Store
    if store_url.startswith("sqlite"):
        opened = SqliteStore.open(store_url, now=clock, reads=reads)
    else:
        opened = await PostgresStore.open(store_url, now=clock, reads=reads)
    yield opened
    await opened.close()


def response(
    name: str, previous: str | None, item: StoredItem, expires_at: int | None = None
) -> StoredResponse:
    return StoredResponse(
        name, END - 10, "completed", previous, b"{}", [item], expires_at=expires_at
    )


async def save_chain(store: Store, ends: StoredItem = ENDS) -> None:
    """Save four responses, each of which follows the one before. The second expires."""
    await store.save(response("old", None, OLD))
    await store.save(response("ends", "old", ends, END))
    await store.save(response("new", "ends", NEW))
    await store.save(response("last", "new", LAST))


async def follows_what_is_known(store: Store) -> bool:
    """Whether a response is counted with the one before it, whose own length is known."""
    await store.measure_chain("", "old", 9)
    return (await store.measure_chain("", "ends", 9)).length == 2


async def is_on_the_page(store: Store) -> bool:
    return await input_page(store, "", "new", PageQuery(9)) == Page([OLD, ENDS, NEW])


async def is_in_the_history(store: Store) -> bool:
    return await store.read(responses.history, "", "new") == [OLD, ENDS, NEW]


async def is_measured(store: Store) -> bool:
    return (await store.measure_chain("", "new", 9)).is_whole


async def is_counted(store: Store) -> bool:
    return (await store.measure_chain("", "ends", 9)).length == 2


async def is_too_young_to_purge(store: Store) -> bool:
    return (await store.write(expiry.purge_size, 1)).expired == 0


async def has(found: Awaitable[object]) -> bool:
    return await found is not None


READS: Mapping[str, Callable[[Store], Awaitable[bool]]] = {
    "a response": lambda store: has(store.read(responses.load, "", "ends")),
    "its events": lambda store: has(store.read(event_log.tail, "", "ends", -1)),
    "its history": lambda store: has(store.read(responses.history, "", "ends")),
    "its list": lambda store: has(input_page(store, "", "ends", PageQuery(9))),
    "its item": lambda store: has(store.read(responses.find_item, "", "msg_ends")),
    "an answer": lambda store: has(find_answer(store, "", b"key")),
    "a key": lambda store: has(store.read(idempotency.find, "", "key")),
    "the history of what follows": is_in_the_history,
    "the list of what follows": is_on_the_page,
    "the chain of what follows": is_measured,
    "its chain": is_counted,
    "its chain, where that before is known": follows_what_is_known,
    "what a purge leaves": is_too_young_to_purge,
}


async def test_every_read_finds_it_until_the_second_before(store: Store, clock: Clock) -> None:
    clock.times = [END - RETAINED]
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    await store.write(answers.put, StoredAnswer("", b"key", b"{}", END, END))
    await save_chain(store)
    clock.times = [END - 1]
    assert [name for name, read in READS.items() if not await read(store)] == []
    clock.times = [END]
    assert [name for name, read in READS.items() if await read(store)] == []


@pytest.mark.parametrize(("at", "is_there"), [(END - 1, True), (END, False)])
async def test_it_is_deleted_until_the_second_before(
    store: Store, clock: Clock, at: int, is_there: bool
) -> None:
    await save_chain(store)
    clock.times = [at]

    assert await store.write(responses.delete, "", "ends") is is_there


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("name", "items"), [("new", [NEW]), ("last", [NEW, LAST])])
async def test_what_expires_while_a_list_is_read_is_not_in_it(
    store: Store, clock: Clock, name: str, items: list[StoredItem], descending: bool
) -> None:
    """Its chain is measured before, and read after its end."""
    await save_chain(store)
    clock.times = [END - 1, END - 1, END]
    expected = items[::-1] if descending else items

    assert await input_page(store, "", name, PageQuery(9, descending=descending)) == Page(expected)


@pytest.mark.parametrize("name", ["ends", "new"])
async def test_no_history_waits_to_read_what_has_expired(
    store: Store, clock: Clock, reads: FairScheduler, name: str
) -> None:
    await save_chain(store, StoredItem("msg_ends", b"x" * (FEW_BYTES + 1)))
    assert reads.take("another")
    with pytest.raises(StoreError, match=r"overloaded: too many large reads "):
        await store.read(responses.history, "", name)
    assert await store.read(responses.history, "", "old") == [OLD]
    clock.times = [END]

    assert await store.read(responses.history, "", name) is None


async def test_a_chat_completion_is_known_until_the_second_before(
    store: Store, clock: Clock
) -> None:
    name = "chatcmpl-1"
    await store.write(
        chat_completions.save,
        StoredCompletion(name, b"{}", ("m", "m"), messages=[b"{}"], expires_at=END),
    )
    known = []
    for now in (END - 1, END):
        clock.times = [now]
        page = await store.read(chat_completions.page, "", CompletionQuery(1, metadata={}))
        found = [
            await store.read(chat_completions.load, "", name),
            await store.read(pages.completion_messages, "", name, PageQuery(1)),
        ]
        changed = await store.write(chat_completions.update, "", name, b"{}")
        behind = await store.read(chat_completions.page, "", CompletionQuery(1, name))
        known.append([*map(bool, found), bool(changed), bool(page.data), not behind.unknown])

    assert known == [[True] * 5, [False] * 5]
    assert not await store.write(chat_completions.delete, "", name)


async def test_a_key_is_reserved_until_the_second_before_and_free_from_its_second_on(
    store: Store, clock: Clock
) -> None:
    clock.times = [END]
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    found = []
    for name, at in (
        ("resp_2", END + RETAINED - 1),
        ("resp_3", END + RETAINED),
        ("resp_4", END + RETAINED),
    ):
        clock.times = [at]
        found.append(
            (await store.write(idempotency.reserve, "", "key", b"print", name, "w")).response_id
        )

    assert found == ["resp_1", "resp_3", "resp_3"]


async def give_up_a_delivery(store: Store) -> None:
    await store.write(
        webhooks.put, WebhookEndpoint("we_1", "", "n", "https://a.b", [EVENT], 1, 1, "whsec_x")
    )
    queued = response("queued", None, OLD)
    await store.write(jobs.enqueue, queued, b"", [])
    job = await store.read(jobs.find_job, "", "queued")
    assert job is not None
    await store.write(jobs.finish, job, queued, announcement=Announcement("evt_1", EVENT, 1, b"{}"))
    (delivery,) = await store.write(webhooks.due, 1)
    await store.write(webhooks.postpone, delivery.id, None, "it answered with status 500")


@pytest.mark.parametrize(
    ("table", "age"),
    [
        ("responses", 0),
        ("chat_completions", 0),
        ("answers", 0),
        ("keys", RETAINED),
        ("deliveries", STORED_FAILURES),
    ],
)
async def test_a_purge_takes_it_from_its_second_on(
    store: Store, clock: Clock, table: str, age: int
) -> None:
    clock.times = [END]
    await save_chain(store)
    await store.write(answers.put, StoredAnswer("", b"key", b"{}", END, END))
    await store.write(
        chat_completions.save, StoredCompletion("chatcmpl-1", b"{}", ("m", "m"), expires_at=END)
    )
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    await give_up_a_delivery(store)
    for at, count in ((END + age - 1, 0), (END + age, 1)):
        clock.times = [at]
        for dry_run in (True, False):
            assert (await purge(store, dry_run=dry_run))[table] == count


async def test_a_file_that_expires_in_the_middle_of_a_purge_still_leaves_its_stores(
    store: Store, clock: Clock
) -> None:
    file = new_file("t", expires_at=END)
    await store.write(files.begin, "t", file.blob, 3600)
    await store.write(files.put, file, AMPLE)
    await store.write(
        stored_vector_stores.create,
        StoredVectorStore("vs_1", "t", END - 1),
        [NewAttachment(file.id)],
    )

    async def at_first_too_early(limit: int) -> int:
        clock.times = [END - is_early]
        forgotten: int = await forget_expired(limit)
        clock.times = [END]
        return forgotten

    forget_expired = replace_operation(
        store, stored_vector_stores.forget_expired, at_first_too_early
    )
    is_early = True
    assert (await purge(store))["files"] == 0
    is_early = False
    assert (await purge(store))["files"] == 1
    assert await store.read(stored_vector_stores.file, "t", "vs_1", file.id) is None
    assert (await store.read(files.use, "t")).files == 0


async def test_a_container_runs_until_the_second_before_and_its_row_ends_with_the_retention(
    store: Store, clock: Clock
) -> None:
    clock.times = [END - 20 * 60]
    container = new_container("t", last_active_at=END - 20 * 60)
    (file,) = await written(store, container, "a.csv")
    await store.write(stored_containers.put, container, [file], containers.AMPLE)
    for now, is_there in ((END - 1, True), (END, False)):
        clock.times = [now]
        found = await find_container(store, "t", container.id)
        assert (found and found.status) == ("running" if is_there else "expired")
        assert (
            await store.read(stored_containers.load_file, "t", container.id, file.id) == file
        ) is is_there
        page = await store.read(stored_containers.file_page, "t", container.id, ContainerQuery(1))
        assert page.data == ((file,) if is_there else ())
        assert (
            await store.write(stored_containers.delete_files, "t", container.id, ["cfile_none"])
        ) == 0
        assert await expire_containers(store, 1) == (not is_there)
    for now, count in ((END + 99, 0), (END + 100, 1)):
        clock.times = [now]
        for dry_run in (True, False):
            assert (await purge(store, 100, dry_run=dry_run))["containers"] == count
