"""Counts the Python calls of this thread by the module of the called function."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

HARNESS = "bench"
"""The package whose own calls are not counted, nor what it calls in libraries by itself."""

Function = tuple[str, str]
"""A function: the name of its module and its own name."""

Calls = Counter[Function]


class CallCounter:
    """Counts `call` events of `sys.setprofile`: each start of a Python function, and each resumption of a generator or
    coroutine. Functions written in C, and other threads, are not counted.
    """

    def __init__(self) -> None:
        self.calls: Calls = Counter()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count inside the block."""
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)

    def take(self) -> Calls:
        """Return what was counted since the last time."""
        calls, self.calls = self.calls, Counter()
        return calls

    def _count(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            # Not the file: a generated method (a dataclass's) has none, and its globals are those of its module.
            module: str = frame.f_globals.get("__name__", "?")
            if not is_harness(module):
                self.calls[module, frame.f_code.co_name] += 1


def is_harness(module: str) -> bool:
    """Return whether a module is one of the bench's own."""
    return module == "__main__" or module == HARNESS or module.startswith(HARNESS + ".")


def package(module: str) -> str:
    """Return what a module is counted under: a package of ours, or the library that it belongs to."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "antiphon" else parts[0]


def by_package(calls: Mapping[Function, float]) -> dict[str, float]:
    """Return the calls of each package and library."""
    packages: dict[str, float] = {}
    for (module, _), count in calls.items():
        name = package(module)
        packages[name] = packages.get(name, 0) + count
    return packages


def files_of_ours(calls: Mapping[Function, float]) -> set[str]:
    """Return which modules of ours were called."""
    return {module for (module, _), count in calls.items() if count and module.split(".")[0] == "antiphon"}
