"""The CPU time of machines, as their /proc shows it, and the shares of their owners."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.sandbox.cpu import BURST, CORES, CpuTime, Shares

TICKS = os.sysconf("SC_CLK_TCK")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Processes:
    """A directory that looks like the /proc of a machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        (path / "self").mkdir()
        self.folder = os.open(path, os.O_RDONLY)

    def show(
        self, number: int, own: float, children: float = 0.0, state: str = "S", started: int = 7
    ) -> None:
        """Show a process with its CPU seconds, and those of its children that have ended."""
        times = f"{own * TICKS:.0f} 0 0 {children * TICKS:.0f}"
        (self._path / str(number)).mkdir(exist_ok=True)
        (self._path / f"{number}/stat").write_text(
            f"{number} (a (name) x) {state} 1 1 1 0 -1 0 0 0 0 0 {times} 39 19 1 0 {started} 0\n"
        )

    def end(self, number: int) -> None:
        (self._path / f"{number}/stat").unlink()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Processes]:
    created = Processes(tmp_path)
    yield created
    os.close(created.folder)


def test_the_time_of_all_processes_is_added_up(machine: Processes, clock: Clock) -> None:
    machine.show(1, 0.5)
    machine.show(2, 1.0, children=0.25)
    assert CpuTime(clock).read(machine.folder) == 1.75


def test_a_process_that_has_ended_counts_once_with_its_parent(
    machine: Processes, clock: Clock
) -> None:
    time = CpuTime(clock)
    machine.show(1, 0.5)
    machine.show(2, 1.0)
    assert time.read(machine.folder) == 1.5
    machine.end(2)
    machine.show(1, 0.5, children=1.25)
    assert time.read(machine.folder) == 1.75


def test_work_of_unawaited_processes_is_still_counted(machine: Processes, clock: Clock) -> None:
    time = CpuTime(clock)
    machine.show(1, 0.5)
    assert time.read(machine.folder) == 0.5
    for number in range(2, 12):  # each ends before the next look, and adds nothing to its parent
        machine.show(number, 0.0, state="R")
        clock.now += 0.25
        time.read(machine.folder)
        machine.end(number)
    assert time.read(machine.folder) == 0.5 + 10 * 0.25


def test_new_processes_have_no_more_cores_than_the_host(machine: Processes, clock: Clock) -> None:
    time = CpuTime(clock)
    for number in range(1, CORES + 20):
        machine.show(number, 0.0, state="R")
    clock.now += 0.5
    assert time.read(machine.folder) == CORES * 0.5
    clock.now += 0.5
    assert (
        time.read(machine.folder) == CORES * 0.5
    )  # they wait for a core: now their own times count


def test_another_process_with_the_same_number_is_new(machine: Processes, clock: Clock) -> None:
    time = CpuTime(clock)
    machine.show(1, 0.5, state="R")
    time.read(machine.folder)
    machine.show(1, 0.0, state="R", started=9)
    clock.now += 0.25
    assert time.read(machine.folder) == 0.5 + 0.25


class Owners:
    """Owners of machines on a host with four cores; each uses so many cores, unless its machines
    pause.
    """

    def __init__(self, clock: Clock, bound: float = 0.0) -> None:
        self._clock = clock
        self._shares = Shares(bound, cores=4, clock=clock)
        self._paused: set[str] = set()

    def work(self, seconds: float, **cores: float) -> dict[str, float]:
        """Return the CPU seconds that each has used."""
        used = dict.fromkeys(cores, 0.0)
        for _ in range(round(seconds / 0.25)):
            for owner in cores.keys() - self._paused:
                used[owner] += 0.25 * cores[owner]
                self._shares.charge(owner, 0.25 * cores[owner])
            self._clock.now += 0.25
            self._paused = self._shares.exceeded()
        return used


def test_an_owner_that_is_alone_leaves_a_core_free(clock: Clock) -> None:
    used = Owners(clock).work(100, a=4)
    assert 300 <= used["a"] <= 300 + 3 * BURST + 1


def test_an_owner_has_as_many_cores_as_its_bound(clock: Clock) -> None:
    owners = Owners(clock, bound=0.5)
    used = owners.work(100, a=4)
    assert 49 <= used["a"] <= 50 + 0.5 * BURST + 1
    assert owners.work(100, b=0.5) == {"b": 50}


def test_owners_that_work_have_equal_parts(clock: Clock) -> None:
    used = Owners(clock).work(100, a=4, b=2)
    assert used["b"] == 200
    assert 200 <= used["a"] <= 200 + 2 * BURST + 1


def test_an_owner_without_work_has_no_part(clock: Clock) -> None:
    used = Owners(clock).work(100, a=3, b=0.01)
    assert used["a"] == 300


def test_a_short_burst_is_not_paused(clock: Clock) -> None:
    owners = Owners(clock, bound=2)
    for _ in range(5):
        assert owners.work(BURST, a=4) == {"a": 4 * BURST}
        owners.work(2 * BURST, a=0)


def test_a_debt_stays_when_the_machine_is_replaced(clock: Clock) -> None:
    shares = Shares(1, cores=4, clock=clock)
    clock.now += 2
    shares.charge("a", 8)
    assert shares.exceeded() == {"a"}
    clock.now += 1
    shares.charge("a", 0.1)
    assert shares.exceeded() == {"a"}
    clock.now += 10
    assert shares.exceeded() == set()


def test_a_machine_with_as_many_cores_as_the_host_never_exceeds_its_share(clock: Clock) -> None:
    shares = Shares(4, cores=4, clock=clock)
    for _ in range(100):
        clock.now += 0.25
        shares.charge("a", 50)
        assert shares.exceeded() == set()
