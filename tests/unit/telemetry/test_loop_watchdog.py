"""The watchdog of the event loop: it measures, it names what stalls the loop, and it ends."""

import asyncio
import logging
import threading
from types import SimpleNamespace
from typing import ClassVar

import pytest

from antiphon.telemetry import loop_watchdog
from antiphon.telemetry.loop_watchdog import EVERY, LoopWatchdog
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
    watchdog = LoopWatchdog(seen.append, every=0.001, long=0.2)  # a busy machine stalls for less
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

    assert max(seen) >= 0.2
    assert ["in be_slow" in record.getMessage() for record in caplog.records] == [True]


class LateEvent(threading.Event):
    """Times out at the moment at which `close` has set all of them."""

    created: ClassVar[list["LateEvent"]] = []

    def __init__(self) -> None:
        super().__init__()
        self.created.append(self)
        self._is_late = True

    def wait(self, timeout: float | None = None) -> bool:
        if timeout != EVERY or not self._is_late:
            return super().wait(timeout)
        self._is_late = False
        return not all(super(LateEvent, each).wait() for each in self.created)


def test_it_ends_if_it_is_closed_while_a_measurement_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def begin_and_end() -> None:
        watchdog = LoopWatchdog(lambda delay: None)
        watchdog.start()
        watchdog.close()

    monkeypatch.setattr(
        loop_watchdog,
        "threading",
        SimpleNamespace(Event=LateEvent, Thread=threading.Thread, get_ident=threading.get_ident),
    )
    loop = threading.Thread(target=lambda: asyncio.run(begin_and_end()), daemon=True)
    loop.start()
    loop.join(30)
    assert not loop.is_alive()


async def test_a_loop_that_ends_ends_it() -> None:
    watchdog = LoopWatchdog(lambda delay: None, every=0.001)
    await asyncio.to_thread(lambda: asyncio.run(begun(watchdog)))
    watchdog.close()


async def begun(watchdog: LoopWatchdog) -> None:
    watchdog.start()
