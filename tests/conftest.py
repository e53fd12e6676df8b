"""Fixtures for everybody: a replaying backend, a server in front of it, a PostgreSQL, and both kinds of stores."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from antiphon.upstream.http import HttpBackend
from tests.support.postgres import Postgres, running
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for the tests of one process."""
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
async def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a store, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/antiphon.db"
    server: Postgres = request.getfixturevalue("postgres")
    return await server.database()


@pytest.fixture
async def stateful(backend: ReplayBackend, store_url: str) -> AsyncIterator[Served]:
    """A server in front of that backend, once on each kind of store."""
    async with serve(HttpBackend("replay", backend.url, "sk-secret-backend-key"), store=store_url) as one:
        yield one
