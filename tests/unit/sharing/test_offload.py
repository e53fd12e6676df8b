"""Work on large data in threads: shared between tenants, and never left behind."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sharing.scheduler import FairScheduler
from antiphon.sizes import LARGE
from tests.support.waiting import let_others_run, until


@pytest.fixture
def turns() -> FairScheduler:
    return thread_turns()


@pytest.fixture
async def offload(turns: FairScheduler) -> AsyncIterator[Offload]:
    one = Offload(turns)
    yield one
    one.close()


async def test_the_result_and_the_error_come_back(offload: Offload, turns: FairScheduler) -> None:
    assert await offload.in_thread("a", int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await offload.in_thread("a", int, "x")
    assert turns.in_use == 0


async def test_small_work_is_done_on_the_event_loop_and_large_work_in_a_thread(
    offload: Offload,
) -> None:
    ran_on = [await offload.run("a", size, threading.current_thread) for size in (LARGE, LARGE + 1)]
    assert ran_on[0] is threading.current_thread() is not ran_on[1]
    assert ran_on[1].name.startswith("large-data")


async def test_the_process_is_prepared_once_before_the_first_work(offload: Offload) -> None:
    done: list[str] = []
    offload.prepare = lambda: done.append("prepared")
    assert not done
    for _ in range(2):
        await offload.in_thread("a", done.append, "worked")

    assert done == ["prepared", "worked", "worked"]


async def test_a_process_that_cannot_be_prepared_loses_no_turn(offload: Offload) -> None:
    def prepare() -> None:
        raise OSError("no library")

    offload.prepare = prepare
    with pytest.raises(OSError, match="no library"):
        await offload.in_thread("a", int, "7")

    assert await offload.in_thread("a", int, "7") == 7


async def test_one_tenant_holds_one_thread_and_leaves_another(
    offload: Offload, turns: FairScheduler
) -> None:
    may_end = threading.Event()
    hanging = [asyncio.create_task(offload.in_thread("a", may_end.wait)) for _ in range(3)]
    await let_others_run()

    assert await offload.in_thread("b", int, "1") == 1
    assert (turns.in_use, turns.waiting) == (1, 2)
    may_end.set()
    await asyncio.gather(*hanging)


async def test_a_cancelled_caller_waits_for_the_started_work(
    offload: Offload, turns: FairScheduler
) -> None:
    began = threading.Event()
    may_end = threading.Event()

    def work() -> None:
        began.set()
        may_end.wait()

    task = asyncio.create_task(offload.in_thread("a", work))
    await until(began.is_set)
    task.cancel()
    await let_others_run()
    task.cancel()
    await let_others_run()
    assert not task.done()

    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert turns.in_use == 0
