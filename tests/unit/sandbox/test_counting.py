"""The memory of processes, as their /proc shows it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.sandbox import counting


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """A /proc with three processes of 1 MiB, each with three mappings, and one that ends."""
    for number in range(1, 5):
        (tmp_path / str(number)).mkdir()
        (tmp_path / f"{number}/maps").write_text("a\nb\nc\n")
        if number < 4:
            (tmp_path / f"{number}/status").write_text(
                "Name: x\nVmRSS:  1000 kB\nVmSwap:  24 kB\nFDSize:  0\n"
            )
    (tmp_path / "self").mkdir()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def counted(folder: int) -> list[int]:
    return sorted(process.memory - 1024 * 1024 for process in counting.processes(folder))


def test_mappings_cost_memory(folder: int) -> None:
    assert counted(folder) == [3 * counting.MAPPING] * 3


def test_processes_that_are_too_expensive_to_read_count_as_full(
    folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_LINES", 0)
    assert counted(folder) == [counting.MOST_MAPPINGS * counting.MAPPING] * 3


@pytest.mark.parametrize(
    ("count", "memory"),
    [(0, 0), (3, 3 * counting.LOCK), (counting.MOST_LOCKS, counting.MOST_LOCKS * counting.LOCK)],
)
def test_locks_cost_memory(folder: int, tmp_path: Path, count: int, memory: int) -> None:
    (tmp_path / "locks").write_text("x\n" * count)
    assert counting.locks(folder) == memory


def test_more_locks_than_are_read_are_more_than_a_machine_may_have(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code adds them faster than they are read, so a count that reads all of them may not end."""
    (tmp_path / "locks").write_text("x" * 60 + "\n")
    read = os.read
    parts = list[bytes]()

    def grown(file: int, size: int) -> bytes:
        assert len(parts) * size < 100 * counting.MOST_LOCKS, "the count does not end"
        parts.append(read(file, size) or b"x\n" * (size // 2))
        return parts[-1]

    monkeypatch.setattr(os, "read", grown)
    assert counting.locks(folder) == counting.FULL
