"""A plugin of pytest that notes which functions of the dependencies each test calls, and the CPU
time of the test.

`-p versions.recording` needs Python 3.12 for `sys.monitoring`: a function is reported once for each
test, so a run takes twice the usual time and not a hundred times. Functions of compiled packages
are noted where Python calls them.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from versions.pins import normal

RECORDED = "ANTIPHON_VERSIONS_RECORD"
"""Names the folder that receives one file for each process of a run."""

_MONITORING: Any = getattr(sys, "monitoring", None)  # Python 3.11 has none
_TOOL = 4  # a number that neither debuggers nor profilers nor coverage tools use
_INSTALLED = re.compile(r"/site-packages/(\w+)")


_OWNERS = {module: [*map(normal, owners)] for module, owners in packages_distributions().items()}
"""Module -> the distributions that have parts of it."""


class Recorder:
    """Notes, for each test, functions of installed packages."""

    def __init__(self, folder: Path) -> None:
        """Write to this folder when the run ends."""
        self._folder = folder
        self._now: set[str] = set()
        self._calls: dict[str, set[str]] = {}
        self._seconds: dict[str, float] = {}

    def start(self) -> None:
        """Note what Python calls from here on."""
        events = _MONITORING.events
        _MONITORING.use_tool_id(_TOOL, "antiphon-versions")
        _MONITORING.register_callback(_TOOL, events.PY_START, self._started)
        _MONITORING.register_callback(_TOOL, events.CALL, self._called)
        _MONITORING.set_events(_TOOL, events.PY_START | events.CALL)

    def _started(self, code: CodeType, offset: int) -> object:
        if found := _INSTALLED.search(code.co_filename):
            self._note(found[1], f"{code.co_filename[found.start() :]}:{code.co_qualname}")
        return _MONITORING.DISABLE

    def _called(
        self, code: CodeType, offset: int, function: Callable[..., object], argument: object
    ) -> object:
        module = (
            getattr(function, "__module__", None)
            or type(getattr(function, "__self__", None)).__module__
        )
        if isinstance(module, str):
            self._note(module.partition(".")[0], getattr(function, "__qualname__", ""))
        return _MONITORING.DISABLE

    def _note(self, module: str, function: str) -> None:
        self._now.update(f"{owner} {function}" for owner in _OWNERS.get(module, ()))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the first case of each test."""
        first: dict[str, pytest.Item] = {}
        for item in items:
            first.setdefault(item.nodeid.partition("[")[0], item)
        items[:] = first.values()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now.clear()
        _MONITORING.restart_events()
        begun = time.process_time()
        result = yield
        test = item.nodeid.partition("[")[0]
        self._seconds[test] = self._seconds.get(test, 0) + time.process_time() - begun
        self._calls.setdefault(test, set()).update(self._now)
        return result

    def pytest_sessionfinish(self) -> None:
        """Write what was noted."""
        _MONITORING.set_events(_TOOL, 0)
        record = {
            test: [self._seconds[test], *sorted(calls)] for test, calls in self._calls.items()
        }
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(record))


def pytest_configure(config: pytest.Config) -> None:
    """Record from the start, so that imports are not counted for the first test."""
    recorder = Recorder(Path(os.environ[RECORDED]))
    config.pluginmanager.register(recorder)
    recorder.start()
