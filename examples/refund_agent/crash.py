"""A process that dies as by a power cut, once: the file shows that it has."""

import os
from pathlib import Path

CRASHED = Path("crashed")


def once() -> None:
    """End this process without any cleanup, but only the first time."""
    if not CRASHED.exists():
        CRASHED.touch()
        os._exit(1)
