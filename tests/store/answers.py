"""Promises about cached answers."""

import time

from antiphon.ids import new_id
from antiphon.storage.answers import find_answer
from antiphon.storage.operations import answers
from antiphon.storage.records.tenants import StoredAnswer
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge, trim_answers
from tests.store.making import T, hold

SOON = 60
"""Lifetime in seconds of the answers of a check."""


def _answer(
    body: bytes = b"answer\0", *, tenant: str = T, used_at: int = 0, stored_size: int = SOON
) -> StoredAnswer:
    now = int(time.time())
    return StoredAnswer(tenant, new_id("key").encode(), body, used_at or now, now + stored_size)


async def _is_found_under_its_key(store: Store) -> None:
    """An answer is found by its tenant under its key, and the newest replaces the one before."""
    mine = _answer()
    hold(await find_answer(store, T, mine.key) is None, "an answer exists that was never stored")
    await store.write(answers.put, mine)
    hold(await find_answer(store, T, mine.key) == mine.body, "an answer is not returned unchanged")
    hold(await find_answer(store, T + "2", mine.key) is None, "another tenant found an answer")
    hold(
        await find_answer(store, T, mine.key + b"\0") is None,
        "an answer was found under another key",
    )
    theirs = StoredAnswer(T + "2", mine.key, b"theirs", mine.used_at, mine.expires_at)
    await store.write(answers.put, theirs)
    await store.write(
        answers.put, StoredAnswer(T, mine.key, b"newer", mine.used_at, mine.expires_at)
    )
    hold(await find_answer(store, T, mine.key) == b"newer", "an answer was not replaced")
    hold(
        await find_answer(store, T + "2", mine.key) == b"theirs",
        "another tenant's answer was replaced",
    )


async def _expires(store: Store) -> None:
    """An answer that has expired is unknown, and `purge` deletes it."""
    old = _answer(stored_size=-1)
    await store.write(answers.put, old)
    hold(await find_answer(store, T, old.key) is None, "an answer that has expired is found")
    hold(
        (await purge(store, dry_run=True))["answers"] >= 1,
        "an answer that has expired is not counted",
    )
    hold((await purge(store))["answers"] >= 1, "an answer that has expired is not deleted")
    hold((await purge(store))["answers"] == 0, "an answer that has expired still exists")


async def _least_recently_used_goes_first(store: Store) -> None:
    """`trim_answers` deletes the least recently used answers, and no more than necessary."""
    first = _answer(bytes(1000), used_at=1)
    second = _answer(bytes(1000), used_at=2)
    await store.write(answers.put, first)
    await store.write(answers.put, second)
    full = await store.read(answers.size)
    hold(await trim_answers(store, full) == 0, "an answer was deleted although there was room")
    await find_answer(store, T, first.key)
    hold(await trim_answers(store, full - 1) == 1, "not exactly one answer was deleted")
    hold(
        await find_answer(store, T, first.key) == first.body,
        "the most recently used answer was deleted",
    )
    hold(await find_answer(store, T, second.key) is None, "the least recently used answer was kept")
    hold(await store.read(answers.size) <= full - 1000, "the size does not match what was deleted")
