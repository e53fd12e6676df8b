"""The watchdog of the event loop: it measures, it names what stalls the loop, and it ends."""

import asyncio
import logging
import threading

import pytest

from antiphon.telemetry.loop_watchdog import LoopWatchdog
from tests.support.waiting import until


async def test_delays_are_measured_again_and_again() -> None:
    seen: list[float] = []
    watchdog = LoopWatchdog(seen.append, every=0.001)
    watchdog.start()
    await until(lambda: len(seen) >= 3)
    watchdog.close()

    assert all(delay >= 0 for delay in seen)
    assert "loop-watchdog" not in {thread.name for thread in threading.enumerate()}


async def test_a_stall_is_logged_once_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[float] = []
    watchdog = LoopWatchdog(seen.append, every=0.001, long=0.01)
    noticed = threading.Event()
    name_of = watchdog._stack

    def stack() -> str:
        found = name_of()
        noticed.set()
        return found

    def be_slow() -> None:
        noticed.wait(30)
        noticed.clear()

    watchdog._stack = stack  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING, "antiphon"):
        watchdog.start()
        for _ in range(2):
            be_slow()
            count = len(seen)
            await until(lambda seen_before=count: len(seen) > seen_before)
        watchdog.close()

    assert max(seen) >= 0.01
    assert ["in be_slow" in record.getMessage() for record in caplog.records] == [True]


async def test_a_loop_that_ends_ends_it() -> None:
    watchdog = LoopWatchdog(lambda delay: None, every=0.001)
    await asyncio.to_thread(lambda: asyncio.run(begun(watchdog)))
    watchdog.close()


async def begun(watchdog: LoopWatchdog) -> None:
    watchdog.start()
