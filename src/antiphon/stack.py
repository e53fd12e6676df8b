"""Room to recurse in, for native code that recurses as deep as its input nests: there, an overflow ends the process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

STACK = 256 * 1024 * 1024
"""Bytes. Only what is used is memory."""

T = TypeVar("T")

_starting = threading.Lock()


def with_room(work: Callable[[], T]) -> T:
    """Return what the work returns, or raise what it raises; it is done at once, on a stack of `STACK` bytes."""
    done: Future[T] = Future()
    thread = threading.Thread(target=_do, args=(work, done), daemon=True)
    with _starting:
        usual = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    return done.result()


def _do(work: Callable[[], T], done: Future[T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)
