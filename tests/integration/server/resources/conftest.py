"""Clients of a server that stores."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.support.server import RunningServer


@pytest.fixture
def client(stateful: RunningServer) -> Iterator[OpenAI]:
    """The official SDK's synchronous client."""
    with OpenAI(base_url=stateful.url, api_key="sk-test", max_retries=0) as sdk:
        yield sdk
