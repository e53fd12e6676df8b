"""Counts the Python calls of this thread, and of others, by the module of the called function."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

HARNESS = "bench"
"""The package whose own calls are not counted, nor what it calls in libraries by itself."""

Function = tuple[str, str]
"""A function: the name of its module and its own name."""

Calls = Counter[Function]


class CallCounter:
    """Counts `call` events of `sys.setprofile`: each start of a Python function, and each
    resumption of a generator or coroutine. Functions written in C are not counted, nor are other
    threads, except those that start `in_threads`.
    """

    def __init__(self) -> None:
        self._counts = [Calls()]
        """Of this thread, and then of each other: two threads that add to one count would lose
        calls.
        """
        self._is_counting = False

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count inside the block."""
        self._is_counting = True
        sys.setprofile(self._profile(self._counts[0]))
        try:
            yield
        finally:
            sys.setprofile(None)
            self._is_counting = False

    @contextmanager
    def in_threads(self) -> Iterator[None]:
        """Count the calls of each thread that starts inside the block, whenever this counts, as
        long as it runs.
        """
        threading.setprofile(self._begin_thread)
        try:
            yield
        finally:
            threading.setprofile(None)

    def take(self) -> Calls:
        """Return what was counted since the last time."""
        calls = sum(self._counts, Calls())
        for counts in self._counts:
            counts.clear()
        return calls

    def _begin_thread(self, frame: FrameType, event: str, arg: Any) -> None:
        """Get the first event of a new thread; those that follow go to a count of its own."""
        self._counts.append(Calls())
        sys.setprofile(self._profile(self._counts[-1]))

    def _profile(self, calls: Calls) -> Callable[[FrameType, str, Any], None]:
        def count(frame: FrameType, event: str, arg: Any) -> None:
            if event == "call" and self._is_counting:
                # Not the file: a generated method (a dataclass's) has none, and its globals are
                # those of its module.
                module: str = frame.f_globals.get("__name__", "?")
                if not is_harness(module):
                    calls[module, frame.f_code.co_name] += 1

        return count


def is_harness(module: str) -> bool:
    """Return whether a module is one of the bench's own."""
    return module == "__main__" or module == HARNESS or module.startswith(HARNESS + ".")


def package(module: str) -> str:
    """Return what a module is counted under: a package of ours, or the library that it belongs
    to.
    """
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
    return {
        module
        for (module, _), count in calls.items()
        if count and module.split(".")[0] == "antiphon"
    }
