"""Fixtures for everybody: a replaying backend, a server in front of it, a PostgreSQL, and both
kinds of stores.

Every test begins with the seed of the run, which its header names.
"""

import gc
import random
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.storage.sqlite.file import open_memory
from antiphon.upstream.http import HttpBackend
from tests.support.chance import PROFILE, SEED
from tests.support.postgres import Postgres, running
from tests.support.replay import ReplayBackend, echo
from tests.support.server import RunningServer, serve


def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end, so the garbage collector need not look at it, then or
    later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(
            100_000
        )  # each test makes a few thousand objects, and most of them go by themselves
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Name the seed: `pytest_report_header` prints nothing in a quiet run, and every run here is
    quiet.
    """
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"ANTIPHON_SEED={SEED} HYPOTHESIS_PROFILE={PROFILE}")


def pytest_runtest_setup() -> None:
    random.seed(SEED)


@pytest.fixture
async def backend() -> AsyncIterator[ReplayBackend]:
    """A backend that repeats what it hears, until a test gives it another script."""
    async with ReplayBackend(echo).serve() as replay:
        yield replay


@pytest.fixture
async def server(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server in front of that backend."""
    async with serve(HttpBackend("replay", backend.url, "sk-secret-backend-key")) as one:
        yield one


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for the tests of one process."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def migrated() -> bytes:
    """An SQLite database with the schema of a store and without a row."""
    with closing(open_memory()) as connection:
        return connection.serialize()


@pytest.fixture(params=["sqlite", "postgres"])
async def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """A place for a store without a row, once of each kind."""
    if request.param == "sqlite":
        path = tmp_path / "antiphon.db"
        path.write_bytes(request.getfixturevalue("migrated"))
        path.chmod(0o600)
        yield f"sqlite://{path}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    async with server.store() as url:
        yield url


@pytest.fixture
async def stateful(backend: ReplayBackend, store_url: str) -> AsyncIterator[RunningServer]:
    """A server in front of that backend, once on each kind of store."""
    async with serve(
        HttpBackend("replay", backend.url, "sk-secret-backend-key"), store=store_url
    ) as one:
        yield one
