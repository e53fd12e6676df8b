"""What is remembered of keys: for how long, for how many, and what that spares the store."""

import asyncio
import gc
import time
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.access import api_keys as module
from antiphon.access.api_keys import KnownKeys, Mint
from antiphon.errors import StoreError
from antiphon.storage.operations import api_keys
from antiphon.storage.operations import api_keys as stored_keys
from antiphon.storage.records.tenants import ApiKey
from tests.support.changed_stores import ChangedStore, replace_operation
from tests.support.keys import issued
from tests.support.waiting import let_others_run, until

PROMISED = 5.0
"""Seconds after which a change is in force everywhere."""


class CountingStore(ChangedStore):
    """Counts what it is asked about keys, and is away while `is_away`."""

    finds = lookups = 0
    is_away = False

    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        self.finds += 1
        self._refuse_away()
        found: ApiKey | None = await self.original.find_api_key(digest)
        return found

    async def has_api_keys(self) -> bool:
        self.lookups += 1
        self._refuse_away()
        return bool(await self.original.has_api_keys())

    def _refuse_away(self) -> None:
        if self.is_away:
            raise StoreError("The store is unreachable.")


class Clock:
    """A clock that stands until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> CountingStore:
    opened = CountingStore.open("sqlite://")
    assert isinstance(opened, CountingStore)
    return opened


def known(store: Any) -> tuple[KnownKeys, Clock]:
    clock = Clock()
    return KnownKeys(store, clock), clock


async def test_without_keys_a_request_does_not_query_the_store(store: CountingStore) -> None:
    keys, _ = known(store)
    assert not any([await keys.are_needed() for _ in range(1000)])

    assert (store.lookups, store.finds) == (1, 0)


async def test_the_first_key_is_in_force_soon_and_from_then_on_for_ever(
    store: CountingStore,
) -> None:
    keys, clock = known(store)
    assert keys.open_until <= clock.now
    assert not await keys.are_needed()
    assert clock.now < keys.open_until <= clock.now + PROMISED
    key, stored_key = await issued(store)
    clock.now += PROMISED
    assert await keys.are_needed()
    assert keys.open_until <= clock.now
    assert await keys.find(await keys.digest(key.encode())) == stored_key
    await store.write(api_keys.put, replace(stored_key, revoked_at=1))
    clock.now += PROMISED
    store.is_away = True

    assert await keys.are_needed()


async def test_a_known_key_needs_no_store_query_and_expires_soon_after_its_end(
    store: CountingStore,
) -> None:
    keys, clock = known(store)
    key, stored_key = await issued(store)
    digest = await keys.digest(key.encode())
    for _ in range(1000):
        assert await keys.find(digest) == stored_key
    assert store.finds == 1
    await store.write(api_keys.put, replace(stored_key, revoked_at=1))
    clock.now += PROMISED

    assert await keys.find(digest) is None


async def test_a_rotated_key_is_taken_over_soon(store: CountingStore) -> None:
    keys, clock = known(store)
    old, stored_key = await issued(store)
    new, renewed = (await Mint.of(store)).rotate(stored_key, int(time.time()) - 1)
    assert await keys.find(await keys.digest(old.encode())) == stored_key
    assert await keys.find(await keys.digest(new.encode())) is None
    await store.write(api_keys.put, renewed)
    clock.now += PROMISED

    assert await keys.find(await keys.digest(old.encode())) is None
    assert await keys.find(await keys.digest(new.encode())) == renewed


async def test_what_this_process_changed_is_in_force_at_once(store: CountingStore) -> None:
    keys, _ = known(store)
    assert not await keys.are_needed()
    key, stored_key = await issued(store)
    keys.forget()
    assert await keys.are_needed()
    digest = await keys.digest(key.encode())
    assert await keys.find(digest) == stored_key
    await store.write(api_keys.put, replace(stored_key, revoked_at=1))
    keys.forget()

    assert await keys.find(digest) is None


async def test_concurrent_requests_with_one_key_query_the_store_once(store: CountingStore) -> None:
    keys, _ = known(store)
    key, stored_key = await issued(store)
    digest = await keys.digest(key.encode())
    found = await asyncio.gather(*(keys.find(digest) for _ in range(200)))

    assert (store.finds, found) == (1, [stored_key] * 200)


async def test_a_cancelled_waiter_does_not_take_the_answer_from_others(
    store: CountingStore,
) -> None:
    keys, _ = known(store)
    key, stored_key = await issued(store)
    digest = await keys.digest(key.encode())
    first, second = (asyncio.ensure_future(keys.find(digest)) for _ in range(2))
    await let_others_run()
    first.cancel()

    assert await second == stored_key


async def test_a_key_that_cannot_be_read_is_invalid(store: CountingStore) -> None:
    keys, clock = known(store)
    key, stored_key = await issued(store)
    digest = await keys.digest(key.encode())
    assert await keys.find(digest) == stored_key
    clock.now += PROMISED
    store.is_away = True
    with pytest.raises(StoreError):
        await keys.find(digest)
    store.is_away = False

    assert await keys.find(digest) == stored_key


async def test_without_required_keys_requests_continue_while_the_store_is_unavailable(
    store: CountingStore,
) -> None:
    keys, clock = known(store)
    store.is_away = True
    with pytest.raises(StoreError):
        await keys.are_needed()
    store.is_away = False
    assert not await keys.are_needed()
    store.is_away = True
    clock.now += PROMISED

    assert not await keys.are_needed()


@pytest.mark.wide
async def test_a_failure_without_waiters_is_not_reported(
    store: CountingStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = asyncio.Event()

    async def fail(digest: bytes) -> None:
        await fails.wait()
        raise StoreError("The store is unreachable.")

    replace_operation(store, stored_keys.find, fail)
    keys, _ = known(store)
    before = asyncio.all_tasks()
    pending = asyncio.create_task(keys.find(b"a digest"))
    await let_others_run()
    pending.cancel()
    await asyncio.wait({pending})
    del pending  # its traceback holds what it waited for
    fails.set()
    await until(lambda: asyncio.all_tasks() == before)
    await let_others_run(2)
    gc.collect()

    assert caplog.text == ""


async def test_what_is_remembered_is_bounded(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    keys, _ = known(store)
    for number in range(100):
        await keys.find(b"%032d" % number)

    for number in range(90, 100):
        await keys.find(b"%032d" % number)
    assert store.finds == 100
    await keys.find(b"%032d" % 89)
    assert store.finds == 101


# What outlives the store.


@dataclass
class Memory:
    """What the processes of a server remember."""

    had_keys: bool = False


async def test_that_there_was_a_key_is_remembered_outside_the_store(store: CountingStore) -> None:
    keys, _ = known(store)
    memory = Memory()
    await keys.remember_in(memory)
    assert not await keys.are_needed()
    assert not memory.had_keys

    await issued(store)
    other, _ = known(store)
    await other.remember_in(memory)
    assert await other.are_needed()
    assert memory.had_keys


async def test_a_store_that_lost_its_keys_authenticates_no_request(
    store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    keys, clock = known(store)
    await keys.remember_in(Memory(had_keys=True))
    for _ in range(3):
        assert await keys.are_needed()
        assert not await keys.are_usable()
        with pytest.raises(StoreError, match="no longer in its store"):
            await keys.digest(b"sk-antiphon-anything")
    assert caplog.text.count("Every request is rejected") == 1

    clock.now += module.COMPLAIN_EVERY
    assert not await keys.are_usable()
    assert caplog.text.count("Every request is rejected") == 2


async def test_a_store_without_the_keys_that_there_were_is_reported_before_the_first_request(
    store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    keys, _ = known(store)
    await keys.remember_in(Memory(had_keys=True))

    assert caplog.text.count("Every request is rejected") == 1


async def test_a_key_created_in_the_new_store_authenticates_its_caller(
    store: CountingStore,
) -> None:
    keys, _ = known(store)
    await keys.remember_in(Memory(had_keys=True))
    with pytest.raises(StoreError):
        await keys.digest(b"sk-antiphon-anything")
    key, stored_key = await issued(store)

    assert await keys.find(await keys.digest(key.encode())) == stored_key
    assert await keys.are_usable()


async def test_what_another_process_has_seen_counts_where_this_one_saw_none(
    store: CountingStore,
) -> None:
    keys, clock = known(store)
    memory = Memory()
    await keys.remember_in(memory)
    assert not await keys.are_needed()
    memory.had_keys = True
    clock.now += PROMISED

    assert await keys.are_needed()
    assert not await keys.are_usable()


async def test_a_store_unavailable_at_the_start_is_retried(store: CountingStore) -> None:
    keys, _ = known(store)
    store.is_away = True
    await keys.remember_in(Memory(had_keys=True))
    assert not await keys.are_usable()
    store.is_away = False
    await issued(store)

    assert await keys.are_usable()
