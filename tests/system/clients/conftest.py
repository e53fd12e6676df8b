"""The server as a process of its own, in front of a model that plays turns."""

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.support.command import serving
from tests.support.mcp_server import McpServer, mcp_serving
from tests.support.small_web import SmallWeb, small_web
from tests.system.clients.model import Model
from tests.system.clients.relay import Relay, relay


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def acting() -> AsyncIterator[Model]:
    """The model behind the server of one file."""
    model = Model()
    async with model.serve():
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sums() -> AsyncIterator[McpServer]:
    """An MCP server."""
    async with mcp_serving() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web() -> AsyncIterator[SmallWeb]:
    """A small web, and its search engine."""
    async with small_web() as one:
        yield one


@pytest.fixture(scope="module")
def settings() -> str:
    """The server's file of settings; a test file whose server runs tools overrides this fixture."""
    return ""


@pytest.fixture(scope="module")
def local_tools(web: SmallWeb) -> str:
    """Settings that let the server use the MCP server and the search engine of this machine."""
    return f'outgoing_networks = ["127.0.0.0/8"]\nweb_search = "{web.searxng}"\n'


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of the server's environment; a test file with another environment overrides
    this fixture.
    """
    return sys.executable


@pytest.fixture(scope="module")
def backend(acting: Model) -> tuple[str, ...]:
    """The flags with the backends; a test file that has them in its settings overrides this
    fixture.
    """
    return ("--backend", acting.url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(
    backend: tuple[str, ...],
    settings: str,
    python: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[str]:
    """The base URL of `antiphon serve`; at the end the server stops on request, and without a
    traceback.
    """
    home: Path = tmp_path_factory.mktemp("antiphon")
    (home / "antiphon.toml").write_text(settings)
    flags = ("--port", "0", *backend, "--store", f"sqlite:///{home}/antiphon.db")
    async with serving(home, *flags, python=python) as server:
        yield server.url
        done = await server.stop(signal.SIGTERM)
    assert done.code == 0
    assert "Traceback" not in done.err


@pytest.fixture
def model(acting: Model) -> Model:
    """The model, with no turns yet."""
    acting.play()
    return acting


@pytest_asyncio.fixture(loop_scope="module")
async def wire(url: str) -> AsyncIterator[Relay]:
    """A relay before the server, which records the bytes of one test."""
    async with relay(url) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def sdk(url: str) -> AsyncIterator[AsyncOpenAI]:
    """The official SDK, which tries nothing twice.

    The limit of the test, which grows with the load, ends a wait.
    """
    async with AsyncOpenAI(base_url=url, api_key="sk-test", max_retries=0) as client:
        yield client
