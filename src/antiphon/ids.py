"""New ids and the clock. Both are handed in by the caller, so a trace can be exact."""

import os
import time
from collections.abc import Callable

NewId = Callable[[str], str]
"""Takes a prefix such as `msg`, returns an id such as `msg_1f…`."""

Clock = Callable[[], float]
"""Seconds since the epoch."""


def new_id(prefix: str) -> str:
    """Return `prefix_` and 192 random bits in hexadecimal: nobody guesses another's id."""
    return f"{prefix}_{os.urandom(24).hex()}"


now: Clock = time.time
