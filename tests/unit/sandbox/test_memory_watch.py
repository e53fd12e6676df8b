"""The memory of machines is counted while calls run, whatever the event loop does, and sooner the
less is left.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.sandbox import memory_watch
from antiphon.sandbox.memory_watch import MemoryWatch
from tests.support.waiting import until

LATE = 3600.0
"""Seconds until a count that no test waits for."""


class Counted:
    """A machine of which it is known how often it was counted."""

    is_enforced = False

    def __init__(self, left: float = 0.0) -> None:
        self.is_busy = True
        self.left = left
        self.counts = 0

    def count_memory(self) -> float:
        self.counts += 1
        return self.left


@pytest.fixture
def machines() -> set[Any]:
    return set()


@pytest.fixture
def watch(machines: set[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryWatch]:
    """A watch that counts each machine once more only if code could fill it soon."""
    monkeypatch.setattr(memory_watch, "LONGEST", LATE)
    monkeypatch.setattr(memory_watch, "SHORTEST", 0.0)
    one = MemoryWatch(machines)
    yield one
    one.close()


def test_counts_continue_while_the_event_loop_is_blocked(
    watch: MemoryWatch, machines: set[Any]
) -> None:
    machine = Counted()
    machines.add(machine)
    watch.call_begins()
    end = time.monotonic() + 60
    while machine.counts < 3 and time.monotonic() < end:
        """No coroutine runs."""
    assert machine.counts >= 3


async def test_a_machine_is_counted_as_soon_as_its_call_begins(
    watch: MemoryWatch, machines: set[Any]
) -> None:
    machine = Counted(LATE * memory_watch.FASTEST)
    machines.add(machine)
    for count in (1, 2):
        watch.call_begins()
        await until(lambda count=count: machine.counts == count)


async def test_only_machines_without_a_control_group_are_counted(
    watch: MemoryWatch, machines: set[Any]
) -> None:
    idle = Counted()
    enforced = Counted()
    counted = Counted()
    idle.is_busy = False
    enforced.is_enforced = True
    machines |= {idle, enforced, counted}
    watch.call_begins()
    await until(lambda: counted.counts >= 3)
    assert (idle.counts, enforced.counts) == (0, 0)


async def test_the_machine_that_has_the_least_left_decides_when_the_next_count_is(
    watch: MemoryWatch, machines: set[Any]
) -> None:
    machines |= {Counted(LATE * memory_watch.FASTEST), Counted(0.0)}
    watch.call_begins()
    await until(lambda: all(each.counts >= 3 for each in machines))


async def test_a_watch_that_was_closed_counts_again_from_the_next_call_on(
    watch: MemoryWatch, machines: set[Any]
) -> None:
    machine = Counted()
    machines.add(machine)
    watch.call_begins()
    await until(lambda: machine.counts)
    watch.close()
    before = machine.counts
    watch.call_begins()
    await until(lambda: machine.counts > before)
