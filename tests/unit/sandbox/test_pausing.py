"""Processes of a machine are stopped, or it is an error. Real ones are stopped in
`tests/system/sandbox`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.sandbox import pausing


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[int]:
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield directory
    os.close(directory)


def test_a_machine_without_processes_is_stopped(processes: int) -> None:
    pausing.stop(processes, None)
    pausing.resume(processes, None)


def test_processes_that_cannot_be_signalled_in_time_are_an_error(
    tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "7").mkdir()
    monkeypatch.setattr(pausing, "PATIENCE", -1.0)
    with pytest.raises(OSError, match="faster"):
        pausing.stop(processes, None)
