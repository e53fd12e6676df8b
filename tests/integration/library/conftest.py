"""Both clients with the model `demo`, and their state in memory."""

from collections.abc import AsyncIterator, Iterator

import pytest

from antiphon import Antiphon, AsyncAntiphon


@pytest.fixture
def client() -> Iterator[Antiphon]:
    with Antiphon() as client:
        yield client


@pytest.fixture
async def coroutines() -> AsyncIterator[AsyncAntiphon]:
    async with AsyncAntiphon() as client:
        yield client
