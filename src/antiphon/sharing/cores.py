"""How many cores this process may use. A container with `--cpus=2` shows all cores of its host, and
may use two.

Source: "Control Group v2" of the Linux kernel's documentation, and proc_pid_cgroup(5).
"""

import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


@cache
def usable_cores() -> float:
    """Return the cores of this process's affinity, or fewer if a control group has a quota: 0.5 is
    half of one.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has none
        cores = os.cpu_count() or 1
    return min(cores, quota())


def whole_cores() -> int:
    """Return the same as a whole number, at least 1."""
    return math.ceil(usable_cores())


def own_groups(root: Path = ROOT, own: Path = OWN) -> list[Path]:
    """Return the control group (v2) of this process as a folder; none where it has none.

    Raises `OSError`.
    """
    return [
        root / line[3:].strip("/")
        for line in own.read_text().splitlines()
        if line.startswith("0::")
    ]


def quota(root: Path = ROOT, own: Path = OWN) -> float:
    """Return how many cores the control group of this process, and those above it, allow it;
    infinity without any.
    """
    try:
        groups = own_groups(root, own)
    except OSError:
        return math.inf
    return min(
        (_quota_of(each) for group in groups for each in (group, *group.parents)), default=math.inf
    )


def _quota_of(group: Path) -> float:
    """Return what `cpu.max` says: microseconds of CPU time, or `max`, in each period of so many
    microseconds.
    """
    with suppress(OSError, ValueError):
        allowed, period = (group / "cpu.max").read_text().split()
        return math.inf if allowed == "max" else int(allowed) / int(period)
    return math.inf
