"""What several tests of the deployment need."""

from collections.abc import AsyncIterator

import pytest

from tests.support.postgres import Postgres


@pytest.fixture
async def postgres_store(postgres: Postgres) -> AsyncIterator[str]:
    """A PostgreSQL database as a store finds it after the migrations."""
    async with postgres.store() as url:
        yield url
