"""Ends a process that an agent's code has forked, before it leaves that code.

It has copies of the connections to the store and to clients, and of the event loop. If it continued
there, it would send to both a second time. A process that the code ends itself, or that executes
another program, is not affected.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LEFT = 70
"""The exit status of such a process: an error of the software."""


@contextmanager
def without_forks() -> Iterator[None]:
    """Run a block that only this process leaves."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            _end(process)


@coroutine
def await_without_forks(work: Awaitable[T]) -> Generator[Any, Any, T]:
    """Await something from which only this process returns to the event loop."""
    running: Any = work.__await__()
    proceed: Callable[[], Any] = partial(running.send, None)
    while True:
        try:
            with without_forks():
                waits_for = proceed()
        except StopIteration as ended:
            result: T = ended.value
            return result
        try:
            value = yield waits_for
        except BaseException as error:
            proceed = partial(running.throw, error)
        else:
            proceed = partial(running.send, value)


def _end(parent: int) -> None:
    sys.stderr.write(
        f"Process {os.getpid()} was forked from {parent} by an agent, and returned from the "
        "agent's code. It ends here. Start another program with `subprocess`, or a process with "
        "`multiprocessing.get_context('spawn')`.\n"
    )
    sys.stderr.flush()
    os._exit(LEFT)
