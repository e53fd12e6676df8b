"""The watch counts machines while calls run, and ends those that are too large."""

from typing import Any

import pytest

from antiphon.sandbox import watch
from antiphon.sandbox.cpu import Shares
from antiphon.sandbox.watch import Watch
from tests.support.waiting import until


class Counted:
    """A machine of which it is known how often it was counted."""

    is_alive, is_enforced, is_too_large, is_paused = True, False, False, False
    owner = "a"

    def __init__(self) -> None:
        self.is_busy = False
        self.counts = 0
        self.ending = ""

    def count(self) -> int:
        self.counts += 1
        return 1

    def new_cpu(self) -> float:
        return 0.0

    async def end(self, ending: str) -> None:
        self.ending = ending


async def test_a_machine_is_counted_as_soon_as_its_call_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PAUSE", 3600.0)
    monkeypatch.setattr(watch, "SHORTEST", 0.0)
    machine: Any = Counted()
    watching = Watch(Shares())
    watching.add(machine)
    machine.is_busy = True
    watching.call_begins()
    await until(lambda: machine.counts >= 3)
    assert not machine.ending
    machine.is_too_large = True
    await until(lambda: machine.ending)
    assert machine.ending == "memory"
    await watching.close()
