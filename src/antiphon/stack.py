"""A large stack for native code that recurses as deep as its input nests: an overflow would end the
process.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

STACK = 256 * 1024 * 1024
"""Bytes. Only the used part needs memory."""

T = TypeVar("T")

_starting = threading.Lock()


def with_room(work: Callable[[], T]) -> T:
    """Return the result of the work, or raise its error; it is done at once, on a stack of `STACK`
    bytes.
    """
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
