"""New ids and the clock. Both are handed in by the caller, so a trace can be exact."""

import os
import time
from collections.abc import Callable

NewId = Callable[[str], str]
"""Takes a prefix such as `msg`, returns an id such as `msg_1f…`."""

Clock = Callable[[], float]
"""Seconds since the epoch."""


def new_id(prefix: str) -> str:
    """Return `prefix_`, 48 bits of the time in milliseconds and 144 random bits, in hexadecimal.

    Nobody guesses another's id; and ids made one after the other stand side by side in a database's index, which
    halves the work of keeping it.
    """
    return f"{prefix}_{int(time.time() * 1000):012x}{_take(18).hex()}"


now: Clock = time.time

_pool = bytearray()


def _take(size: int) -> bytes:
    """Return fresh random bytes; the kernel is asked for many at once, since asking costs more than the bytes."""
    if len(_pool) < size:
        _pool.extend(os.urandom(4096))
    taken = bytes(_pool[-size:])
    del _pool[-size:]
    return taken
