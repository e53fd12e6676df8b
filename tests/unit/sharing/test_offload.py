"""Work on large data in threads: shared between tenants, and never left behind."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sharing.scheduler import FairScheduler
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
    assert await offload.run("a", int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await offload.run("a", int, "x")
    assert turns.in_use == 0


async def test_the_process_is_prepared_once_before_the_first_work(offload: Offload) -> None:
    done: list[str] = []
    offload.prepare = lambda: done.append("prepared")
    assert not done
    for _ in range(2):
        await offload.run("a", done.append, "worked")

    assert done == ["prepared", "worked", "worked"]


async def test_a_process_that_cannot_be_prepared_loses_no_turn(offload: Offload) -> None:
    def prepare() -> None:
        raise OSError("no library")

    offload.prepare = prepare
    with pytest.raises(OSError, match="no library"):
        await offload.run("a", int, "7")

    assert await offload.run("a", int, "7") == 7


async def test_one_tenant_holds_one_thread_and_leaves_another(
    offload: Offload, turns: FairScheduler
) -> None:
    may_end = threading.Event()
    hanging = [asyncio.create_task(offload.run("a", may_end.wait)) for _ in range(3)]
    await let_others_run()

    assert await offload.run("b", int, "1") == 1
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

    task = asyncio.create_task(offload.run("a", work))
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
