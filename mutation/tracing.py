"""Which tests run which lines: found once, by running all tests under a trace of the code that is mutated."""

import sys
import threading
import time
from collections.abc import Collection, Iterator
from types import FrameType
from typing import Any

import msgspec
import pytest

IMPORTED = -1
"""Stands for a test where a line runs outside of all tests, such as when its module is imported."""


class PassedTest(msgspec.Struct):
    """A test that passes without a change: its id, its seconds under the trace, whether it uses PostgreSQL."""

    id: str
    seconds: float

    @property
    def uses_postgres(self) -> bool:
        return "postgres" in self.id


class Trace(msgspec.Struct):
    """The tests that passed, and by file and line the numbers of those that ran it; the ids of tests that failed."""

    tests: list[PassedTest]
    lines: dict[str, dict[int, list[int]]]
    failed: list[str]


class Tracer:
    """A plugin of pytest that notes the lines of these files (absolute paths) which each test runs."""

    def __init__(self, files: Collection[str]) -> None:
        self._now: dict[str, set[int]] = {file: set() for file in files}
        self._has_failed = False
        self.trace = Trace([], {file: {} for file in files}, [])

    def start(self) -> None:
        """Trace this thread and those that it starts."""
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        lines = self._now.get(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)

        def note(frame: FrameType, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return note

        return note

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._note(IMPORTED)
        self._has_failed, began = False, time.monotonic()
        result = yield
        if self._has_failed:
            self.trace.failed.append(item.nodeid)
        else:
            self._note(len(self.trace.tests))
            self.trace.tests.append(PassedTest(item.nodeid, time.monotonic() - began))
        for lines in self._now.values():
            lines.clear()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._has_failed |= report.failed

    def _note(self, test: int) -> None:
        for file, lines in self._now.items():
            for line in lines:
                self.trace.lines[file].setdefault(line, []).append(test)
            lines.clear()
