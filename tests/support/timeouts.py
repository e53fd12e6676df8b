"""A plugin of pytest: more time for tests on a slow or busy machine, and no interruption inside the
garbage collector.

`timeout` in pyproject.toml, `--timeout` and the marker are for a machine that has nothing else to
do.
"""

import gc
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import pytest_timeout

from tests.support.cpu.calibration import SLICE, by_the_clock

SOON = 0.01
"""Seconds after which an interruption that came at a bad moment is tried again."""

MOST = 5.0
"""How many times longer a limit becomes at most: a test that hangs shall end."""

_state = {"slowness": 1.0, "is_collecting": False}


def pytest_sessionstart() -> None:
    """Measure the machine, and watch the garbage collector from before its first callback to after
    its last.
    """
    _state["slowness"] = by_the_clock(SLICE).slowness
    gc.callbacks.insert(0, _begins)
    gc.callbacks.append(_ends)


def scaled(seconds: float, slowness: float, load: float, cores: int) -> float:
    """A time limit for this machine, where `load` processes want `cores`; at most `MOST` times the
    usual one.
    """
    return seconds * min(MOST, max(1.0, slowness, load / cores))


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> object:
    seconds = scaled(settings.timeout, _state["slowness"], os.getloadavg()[0], os.cpu_count() or 1)
    is_set = pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=seconds))
    handler = signal.getsignal(signal.SIGALRM)
    if callable(handler):  # else a thread waits
        signal.signal(signal.SIGALRM, _outside_the_collector(handler))
    return is_set


Handler = Callable[[int, FrameType | None], object]


def _outside_the_collector(handler: Handler) -> Handler:
    """Put an interruption off while garbage is collected.

    What it raises there reaches no test. Its traceback is a syntax tree on Python 3.11, and if the
    collector ran while another tree was made, that one fails: `SystemError: AST constructor
    recursion depth mismatch`.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if _state["is_collecting"]:
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            handler(number, frame)

    return handle


def _begins(phase: str, _: object) -> None:
    if phase == "start":
        _state["is_collecting"] = True


def _ends(phase: str, _: object) -> None:
    if phase == "stop":
        _state["is_collecting"] = False
