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
    halves the work of keeping it. The kernel is asked for many random bytes at once: the call costs more than they do.
    """
    if len(_pool) < _SIZE:
        _pool.extend(os.urandom(4096))
    random = _pool[-_SIZE:].hex()
    del _pool[-_SIZE:]
    return f"{prefix}_{int(time.time() * 1000):012x}{random}"


now: Clock = time.time

_SIZE = 18
"""Random bytes of an id."""

_pool = bytearray()
"""Random bytes that no id has yet."""
