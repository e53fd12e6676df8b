"""How many calls of functions something takes."""

import sys
from collections.abc import Callable
from typing import Any


def calls_in(act: Callable[[], object], *, in_c: bool = False) -> int:
    """Do something, and return how many calls of Python's functions it took; `in_c` counts those of
    C too.
    """
    count = 0
    counted = ("call", "c_call") if in_c else ("call",)

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in counted

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count
