"""The CPU seconds, user and system, of this process, of the children it waited for, and of servers
it only knows.
"""

import os
import resource
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")

_servers: dict[int, float] = {}
"""The CPU seconds of each server, as last read: one that is gone cannot be asked."""


def watch(pid: int) -> None:
    """Count a process that is no child of this one, such as PostgreSQL, and all that it starts."""
    _servers[pid] = 0.0
    refresh()


def refresh() -> None:
    """Read the CPU seconds of the servers; what a server had before it ended stays."""
    for pid, known in _servers.items():
        _servers[pid] = max(known, _tree(pid))


def spent() -> float:
    """CPU seconds so far; those of the servers are as old as the last `refresh`."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + sum(_servers.values())


def of_this_process() -> float:
    """CPU seconds of this process alone."""
    return time.process_time()


def _tree(pid: int) -> float:
    """CPU seconds of a process, of the children it waited for, and of the trees of the others; 0
    where it is gone.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it is gone, or this system has no such files
        return 0.0
    own = (
        sum(int(field) for field in fields[11:15]) / _TICKS
    )  # utime, stime, cutime, cstime: see proc(5)
    return own + sum(_tree(int(child)) for child in children)
