"""Both loops, for tests that run on each: asyncio's, and uvloop where it is installed, which serves
in production.
"""

import asyncio
from collections.abc import Callable, Mapping

try:
    import uvloop
except ImportError:  # Windows
    LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "asyncio": asyncio.new_event_loop
    }
else:
    LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Name the loops."""
    return LOOPS
