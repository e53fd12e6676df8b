"""Browsers that show the console: of a scripted server, and of the real one."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.support.browser import a_page
from tests.support.console.bundle import perform
from tests.support.console.real import RealConsole, real_console
from tests.support.console.server import MockServer, serving_console
from tests.support.console.visitor import Visitor


@dataclass
class Console(Visitor):
    """The console of a scripted server."""

    server: MockServer


@pytest.fixture
async def console(request: pytest.FixtureRequest) -> AsyncIterator[Console]:
    perform("build")
    server = MockServer(**getattr(request, "param", {}))
    async with serving_console(server) as url, a_page() as page:
        await page.resize(1440)
        yield Console(page, url, server)


@pytest.fixture
async def real() -> AsyncIterator[RealConsole]:
    perform("build")
    async with real_console() as console:
        yield console
