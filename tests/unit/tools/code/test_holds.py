"""Holds on containers: renewed while a call runs, and lost with the container or the store."""

import asyncio

import pytest

from antiphon.errors import StoreError
from antiphon.storage.records.containers import ContainerQuota, StoredContainer
from antiphon.tools.code import holds
from antiphon.tools.code.holds import ContainerBusyError, Hold, LostHoldError, Queues
from tests.support.containers import MemoryContainers
from tests.support.waiting import let_others_run

ID = "cntr_1"


@pytest.fixture
async def store(monkeypatch: pytest.MonkeyPatch) -> MemoryContainers:
    monkeypatch.setattr(holds, "RENEW_EVERY", 0.0)
    one = MemoryContainers()
    await one.put_container(StoredContainer(ID, "", "c", 1, 1, 20), (), ContainerQuota(1, 1, 1))
    return one


def fails(store: MemoryContainers, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have the store fail to renew holds so many times."""
    renew = store.renew_hold
    left = [times]

    async def renew_hold(tenant: str, container_id: str, holder: str, seconds: float) -> bool:
        if left[0]:
            left[0] -= 1
            raise StoreError("The store is unreachable.")
        return await renew(tenant, container_id, holder, seconds)

    monkeypatch.setattr(store, "renew_hold", renew_hold)


async def turns(count: int) -> str:
    """Work that takes so many turns of the loop."""
    await let_others_run(count)
    return "done"


async def test_work_goes_on_while_the_hold_is_renewed(store: MemoryContainers) -> None:
    hold = Hold(store, "", ID, "worker_1")
    assert (await hold.begin()) is not None

    assert await hold.run(turns(50)) == "done"

    await hold.end()
    assert not store.holders


async def test_a_store_that_fails_for_a_moment_costs_no_call(
    store: MemoryContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = Hold(store, "", ID, "worker_1")
    await hold.begin()
    fails(store, monkeypatch, 3)

    assert await hold.run(turns(50)) == "done"


async def test_a_store_that_fails_until_the_hold_is_over_ends_the_work(
    store: MemoryContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "HOLD_SECONDS", 0.0)
    hold = Hold(store, "", ID, "worker_1")
    await hold.begin()
    fails(store, monkeypatch, 1000)
    was_cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled.set()
            raise

    with pytest.raises(LostHoldError):
        await hold.run(work())

    assert was_cancelled.is_set()


async def test_an_error_of_the_work_is_raised(store: MemoryContainers) -> None:
    async def work() -> None:
        raise ValueError("broken")

    hold = Hold(store, "", ID, "worker_1")
    await hold.begin()
    with pytest.raises(ValueError, match="broken"):
        await hold.run(work())


async def test_calls_of_one_container_come_in_their_order() -> None:
    queues = Queues()
    order = list[int]()

    async def call(number: int) -> None:
        async with queues.turn(ID):
            order.append(number)
            await let_others_run()
            order.append(number)

    await asyncio.gather(*map(call, range(4)))

    assert order == [0, 0, 1, 1, 2, 2, 3, 3]
    assert not queues.has(ID)


async def test_the_wait_for_the_calls_before_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "WAIT_SECONDS", 0.0)
    queues = Queues()
    async with queues.turn(ID):
        with pytest.raises(ContainerBusyError):
            async with queues.turn(ID):
                raise AssertionError("two calls at once")

    assert not queues.has(ID)
