"""A plugin of pytest that reports all tests which miss the recordings in one line of the
summary.
"""

from collections.abc import Generator
from typing import Any

import pytest

from tests.support import recordings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """pytest puts those skips on one line that have a reason and a place in common."""
    report = yield
    if (
        report.skipped
        and isinstance(report.longrepr, tuple)
        and report.longrepr[2].endswith(recordings.MISSING)
    ):
        report.longrepr = (recordings.__file__, None, report.longrepr[2])
    return report
