"""The server as a process of its own, in front of a model that plays turns."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.support.command import serving
from tests.system.clients.model import Model


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def acting() -> AsyncIterator[Model]:
    """The model behind the server of one file."""
    model = Model()
    async with model.serve():
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(acting: Model, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The base URL of `antiphon serve`; it stops when it is told to, and nothing broke down in it."""
    home: Path = tmp_path_factory.mktemp("antiphon")
    flags = ("--port", "0", "--backend", acting.url, "--store", f"sqlite:///{home}/antiphon.db")
    async with serving(home, *flags) as server:
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
async def sdk(url: str) -> AsyncIterator[AsyncOpenAI]:
    """The official SDK, which tries nothing twice."""
    async with AsyncOpenAI(base_url=url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client
