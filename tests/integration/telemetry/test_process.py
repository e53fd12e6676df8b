"""What the system knows of the process."""

import platform
import sys
import time
from pathlib import Path

import pytest

from antiphon.telemetry.process import open_files, process_metrics
from antiphon.version import __version__

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def numbers() -> dict[str, float]:
    return {one.name: sample.value for one in process_metrics() for sample in one.samples()}


def test_every_number_is_that_of_this_process() -> None:
    found = numbers()

    assert 0 < found["process_cpu_seconds"] <= time.process_time()
    assert 10**7 < found["process_resident_memory_bytes"] < found["process_virtual_memory_bytes"]
    assert 3 <= found["process_open_fds"] <= found["process_max_fds"]
    assert 0 <= time.time() - found["process_start_time_seconds"] < 86_400


def test_a_file_that_is_opened_is_counted(tmp_path: Path) -> None:
    before = open_files()
    files = [(tmp_path / str(number)).open("w") for number in range(20)]
    during = open_files()
    for file in files:
        file.close()

    assert during - before == 20


def test_the_build_is_named() -> None:
    (build,) = next(one for one in process_metrics() if one.name == "antiphon_build_info").samples()

    assert (build.labels, build.value) == (
        {"version": __version__, "python": platform.python_version()},
        1,
    )
