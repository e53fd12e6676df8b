"""What is reserved for a key, where the client does not wait for it; and what its slot costs."""

import asyncio
import time
from typing import Any

from bench import keys
from bench.figures import SLOT_CALLS

from antiphon.access.metering import Meter
from antiphon.storage.contract import BucketState
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.keys import issued


class Slow(SqliteStore):
    """A store in memory that says what it took only once it may."""

    taken: asyncio.Event
    go: asyncio.Event

    async def take(self, *asked: Any) -> BucketState:
        level = await super().take(*asked)
        self.taken.set()
        await self.go.wait()
        return level


async def test_what_is_reserved_for_a_client_that_left_meanwhile_is_given_back() -> None:
    store = Slow.open("sqlite://")
    store.taken, store.go = asyncio.Event(), asyncio.Event()
    _, key = await issued(store, tokens_per_day=100)
    meter = Meter(store, time.time)

    leaving = asyncio.create_task(meter.admit(key, "m", lambda: 100))
    await store.taken.wait()
    leaving.cancel()
    await asyncio.wait({leaving})
    store.go.set()
    while not (await store.take(key.id, key.limits, 100)).is_granted:
        await meter.settle()

    assert leaving.cancelled()
    await store.close()


def test_a_slot_costs_a_request_few_calls() -> None:
    _, calls = keys.slot()

    assert calls <= SLOT_CALLS
