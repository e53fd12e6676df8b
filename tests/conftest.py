"""Fixtures for everybody: a replaying backend and a server in front of it."""

from collections.abc import AsyncIterator

import pytest

from antiphon.backends.http import HttpBackend
from tests.support.replay import ReplayBackend, echo
from tests.support.server import Served, serve


@pytest.fixture
async def backend() -> AsyncIterator[ReplayBackend]:
    """A backend that repeats what it hears, until a test gives it another script."""
    async with ReplayBackend(echo).serve() as replay:
        yield replay


@pytest.fixture
async def served(backend: ReplayBackend) -> AsyncIterator[Served]:
    """A server in front of that backend."""
    async with serve(HttpBackend("replay", backend.url, "sk-secret-backend-key")) as one:
        yield one
