"""A worker that SIGKILL ends at a write of its store, and that another process replaces.

A test copies this file next to the agents of a worker, which call `fork_workers` at their end. The
worker is forked there, so that its successor needs not import a framework again. The file `kill`
has the number of the write, counted from the next one, and the moment, such as `3 before`; it is
deleted at the death. Then the line `died` is printed, and when the pipe `next` was opened, the
next worker starts.
"""

import ctypes
import os
import signal
from pathlib import Path
from typing import Any

from antiphon.storage.operations import jobs
from antiphon.storage.store import Store

PLAN, NEXT = Path("kill").absolute(), Path("next").absolute()
PR_SET_PDEATHSIG = 1

_write = Store.write


async def _write_or_die(store: Store, operation: Any, *values: Any, **named: Any) -> Any:
    moment = _moment() if operation in (jobs.advance, jobs.finish) else ""
    if moment == "before":
        _die()
    result = await _write(store, operation, *values, **named)
    if moment == "after":
        _die()
    return result


def _moment() -> str:
    """Return when to die at this write; empty for never."""
    if not PLAN.exists():
        return ""
    number, moment = PLAN.read_text().split()
    PLAN.write_text(f"{int(number) - 1} {moment}")
    return moment if number == "1" else ""


def _die() -> None:
    PLAN.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def fork_workers() -> None:
    """Return in a worker, and again in its successor, each a process of its own."""
    Store.write = _write_or_die  # type: ignore[assignment]
    while worker := os.fork():
        os.waitpid(worker, 0)
        print("died", flush=True)
        NEXT.read_bytes()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
