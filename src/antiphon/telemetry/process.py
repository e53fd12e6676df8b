"""Facts of the operating system about this process, under the names of Prometheus's own clients,
and the build.

Read when metrics are scraped, in some 50 µs. Facts that the system does not offer (`/proc` is
Linux's) have no values.
"""

import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from antiphon.telemetry.kinds import Labels, ObservedNumbers
from antiphon.version import __version__

PROC = Path("/proc")

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def process_metrics() -> list[ObservedNumbers]:
    """Return the metrics of this process."""
    build: dict[Labels, float] = {(__version__, platform.python_version()): 1.0}

    def each(name: str, text: str, of: Callable[[], float], kind: str = "gauge") -> ObservedNumbers:
        return ObservedNumbers(f"process_{name}", text, poll_once=lambda: _read(of), kind=kind)

    return [
        ObservedNumbers(
            "antiphon_build_info",
            "The running version; always 1.",
            "version",
            "python",
            poll_once=lambda: build,
        ),
        each("cpu_seconds", "CPU time that the process has used.", time.process_time, "counter"),
        each("resident_memory_bytes", "Physical memory that the process uses.", lambda: _memory(1)),
        each("virtual_memory_bytes", "Virtual memory of the process.", lambda: _memory(0)),
        each("open_fds", "File descriptors that the process has open.", open_files),
        each(
            "max_fds",
            "Maximum number of file descriptors.",
            lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        ),
        each(
            "start_time_seconds",
            "When the process started, in Unix time.",
            lambda: _started(os.getpid()),
        ),
    ]


def open_files(folder: Path = PROC / "self/fd") -> float:
    """Return the number of open files.

    Since 6.2, Linux has it as the size of a folder; before, they are counted.
    """
    return folder.stat().st_size or len(os.listdir(folder))  # noqa: PTH208 - names are enough


def _read(of: Callable[[], float]) -> Mapping[Labels, float]:
    with suppress(OSError):
        return {(): float(of())}
    return {}


def _memory(field: int) -> float:
    return float((PROC / "self/statm").read_text().split()[field]) * _PAGE


@cache
def _started(pid: int) -> float:
    """Return when a process started: ticks since the machine was booted, and the time of the
    boot.
    """
    ticks = float((PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()[19])
    booted = next(
        line for line in (PROC / "stat").read_text().splitlines() if line.startswith("btime ")
    )
    return float(booted.split()[1]) + ticks / _TICKS
