"""The CPU time of a machine that is stopped between its calls."""

from functools import partial
from pathlib import Path

import pytest

from antiphon.sandbox import pausing, usage
from antiphon.sandbox.cpu import CpuTime
from antiphon.sandbox.usage import MachineUsage
from tests.unit.sandbox.test_cpu import Clock, Processes


def test_a_call_that_begins_is_not_charged_for_the_time_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    machine = Processes(tmp_path)
    monkeypatch.setattr(usage, "CpuTime", partial(CpuTime, clock))
    monkeypatch.setattr(pausing, "stop", lambda *_: None)
    monkeypatch.setattr(
        pausing, "resume", lambda *_: machine.show(2, 0.0, state="R")
    )  # the call starts a process
    machine.show(1, 0.5)
    counted = MachineUsage(machine.folder, [])
    counted.stop()
    clock.now += 60
    counted.resume()
    clock.now += 0.25
    counted.count_cpu()
    assert counted.cpu == 0.5 + 0.25
    counted.close()
