"""Every test here runs on both loops."""

from tests.support.loops import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
