"""Each model server, and `antiphon serve` in front of it; both start once for all tests."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.support.command import serving
from tests.system.model_servers.servers import KINDS, TRANSFORMERS, Kind, ModelServer, running

Homes = pytest.TempPathFactory

EVERY = 0.05
"""Seconds after which Antiphon looks after its backends once more."""


def require(kind: Kind) -> None:
    """Skip where this server is not installed."""
    if not kind.is_installed:
        pytest.skip(f".backends/{kind.folder} is not there; `make test-backends` installs it")


@asynccontextmanager
async def antiphon_over(home: Path, configuration: str) -> AsyncIterator[str]:
    """Run `antiphon serve` with this configuration; its base URL. Nothing may break down in it."""
    (home / "antiphon.toml").write_text(f"check_interval = {EVERY}\n\n{configuration}")
    async with serving(home, "--port", "0", "--store", f"sqlite:///{home}/antiphon.db") as server:
        yield server.url
        done = await server.stop(signal.SIGTERM)
    assert done.code == 0
    assert "Traceback" not in done.err


def backend(server: ModelServer, more: str = "") -> str:
    """Configure one. Nothing tells of `transformers serve` what it is, so that is said."""
    text = f'dialect = "transformers"\n{more}' if server.kind is TRANSFORMERS else more
    return f'[[backends]]\nurl = "{server.url}"\nname = "{server.kind.name}"\n{text}'


@pytest_asyncio.fixture(
    scope="session", loop_scope="session", params=KINDS, ids=[kind.name for kind in KINDS]
)
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: Homes
) -> AsyncIterator[ModelServer]:
    """A model server."""
    kind: Kind = request.param
    require(kind)
    async with running(kind, tmp_path_factory.mktemp(kind.folder)) as one:
        yield one


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def front(server: ModelServer, tmp_path_factory: Homes) -> AsyncIterator[str]:
    """The base URL of `antiphon serve` over that server."""
    async with antiphon_over(tmp_path_factory.mktemp("antiphon"), backend(server)) as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def sdk(front: str) -> AsyncIterator[AsyncOpenAI]:
    """The official SDK, which tries nothing twice."""
    async with AsyncOpenAI(base_url=front, api_key="sk-test", max_retries=0, timeout=120) as client:
        yield client
