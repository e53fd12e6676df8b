"""The small web, and a tool that searches it."""

from collections.abc import AsyncIterator

import pytest

from tests.support.small_web import SmallWeb, small_web


@pytest.fixture
async def web() -> AsyncIterator[SmallWeb]:
    async with small_web() as one:
        yield one
