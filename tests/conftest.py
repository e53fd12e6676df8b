"""Fixtures for everybody: a replaying backend, a server in front of it, a PostgreSQL, and both kinds of stores.

Every run begins with the same seed, which its header names.
"""

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from antiphon.upstream.http import HttpBackend
from tests.support.chance import FIXED, PROFILE, SEED
from tests.support.postgres import Postgres, running
from tests.support.replay import ReplayBackend, echo
from tests.support.server import Served, serve


def pytest_configure(config: pytest.Config) -> None:
    if SEED != FIXED and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED


def pytest_report_header() -> str:
    return f"ANTIPHON_SEED={SEED} HYPOTHESIS_PROFILE={PROFILE}"


def pytest_runtest_setup() -> None:
    random.seed(SEED)


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
    return await server.store()


@pytest.fixture
async def stateful(backend: ReplayBackend, store_url: str) -> AsyncIterator[Served]:
    """A server in front of that backend, once on each kind of store."""
    async with serve(HttpBackend("replay", backend.url, "sk-secret-backend-key"), store=store_url) as one:
        yield one
