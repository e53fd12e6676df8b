"""Which tests run which lines: found once, by running all tests under a trace of the code that is
mutated.
"""

import sys
import threading
import time
from collections.abc import Collection, Iterator
from functools import cache
from types import FrameType
from typing import Any

import msgspec
import pytest

IMPORTED = -1
"""Stands for a test where a line runs outside of all tests: when its module is imported, or for a
shared fixture.
"""


_Cached = type(cache(str))


class PassedTest(msgspec.Struct):
    """A test that passes without a change: its id, its seconds under the trace, whether it uses
    PostgreSQL.
    """

    id: str
    seconds: float

    @property
    def uses_postgres(self) -> bool:
        return "postgres" in self.id


class Trace(msgspec.Struct):
    """The tests that passed, and the numbers of those that ran a line, by file, or used a
    statement; what failed.
    """

    tests: list[PassedTest]
    lines: dict[str, dict[int, list[int]]]
    statements: dict[str, list[int]]
    failed: list[str]


class Tracer:
    """A plugin of pytest that notes the lines of these files (absolute paths) which each test
    runs.
    """

    def __init__(self, files: Collection[str]) -> None:
        self._now: dict[str, set[int]] = {file: set() for file in files}
        self._statements: set[str] = set()
        self._has_failed = False
        self.trace = Trace([], {file: {} for file in files}, {}, [])

    def start(self) -> None:
        """Trace this thread and those that it starts."""
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        lines = self._now.get(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)
        if frame.f_code.co_varnames[:1] == ("query",):  # such as `ask` of `storage/operations/`
            self._statements.add(frame.f_locals["query"])

        def note(frame: FrameType, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return note

        return note

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.start()  # again: a test that runs out of stack, or profiles, ends the trace
        self._empty_caches()
        self._note(IMPORTED)
        self._has_failed, began = False, time.monotonic()
        result = yield
        if self._has_failed:
            self.trace.failed.append(item.nodeid)
        else:
            self._note(len(self.trace.tests))
            self.trace.tests.append(PassedTest(item.nodeid, time.monotonic() - began))
        self._clear()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Count what sets up a fixture that tests share for none of them: only the first that uses
        it would run it.
        """
        if fixturedef.scope == "function":
            return (yield)
        lines = {file: set(lines) for file, lines in self._now.items()}
        statements = set(self._statements)
        self._clear()
        result = yield
        self._note(IMPORTED)
        for file, own in lines.items():
            self._now[file] |= own
        self._statements |= statements
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._has_failed |= report.failed

    def _note(self, test: int) -> None:
        for file, lines in self._now.items():
            for line in lines:
                self.trace.lines[file].setdefault(line, []).append(test)
        for statement in self._statements:
            self.trace.statements.setdefault(statement, []).append(test)
        self._clear()

    def _empty_caches(self) -> None:
        """Forget the results of cached functions: else only the first test that needs one would run
        its lines.
        """
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) in self._now:
                for value in vars(module).values():
                    if isinstance(value, _Cached):
                        value.cache_clear()

    def _clear(self) -> None:
        self._statements.clear()
        for lines in self._now.values():
            lines.clear()
