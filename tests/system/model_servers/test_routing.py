"""Both model servers behind one Antiphon, which serves a third name from either."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.system.model_servers.conftest import Homes, antiphon_over, backend, require
from tests.system.model_servers.requests import FOR_EVER
from tests.system.model_servers.servers import KINDS, LLAMA, TRANSFORMERS, ModelServer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEA = "sea"
"""The name that both answer to."""


@dataclass
class Pair:
    """Both servers, and a client of what is in front of them."""

    llama: ModelServer
    transformers: ModelServer
    sdk: AsyncOpenAI

    async def send_request(self, model: str, **body: Any) -> tuple[str, str]:
        """Ask; the response's id, and who answered."""
        raw = await self.sdk.responses.with_raw_response.create(
            model=model, **({"input": "Hello"} | body)
        )
        response = raw.parse()
        assert response.error is None
        return response.id, raw.headers["antiphon-backend"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: Homes) -> AsyncIterator[Pair]:
    for kind in KINDS:
        require(kind)
    async with (
        running(LLAMA, tmp_path_factory.mktemp("llama-cpp")) as llama,
        running(TRANSFORMERS, tmp_path_factory.mktemp("transformers")) as transformers,
    ):
        both = "\n".join(
            backend(one, f'aliases = {{ "{SEA}" = "{one.kind.model}" }}\n')
            for one in (llama, transformers)
        )
        async with (
            antiphon_over(tmp_path_factory.mktemp("antiphon"), both) as url,
            AsyncOpenAI(base_url=url, api_key="sk-test", max_retries=0, timeout=120) as sdk,
        ):
            yield Pair(llama, transformers, sdk)


async def test_each_model_is_answered_by_its_own_server(pair: Pair) -> None:
    listed = {model.id async for model in pair.sdk.models.list()}

    assert listed == {LLAMA.model, TRANSFORMERS.model, SEA}
    assert {(await pair.send_request(kind.model))[1] for kind in KINDS} == {
        kind.name for kind in KINDS
    }


async def test_a_chain_returns_to_the_backend_that_began_it(pair: Pair) -> None:
    for _ in range(4):
        begun, first = await pair.send_request(SEA)
        assert (await pair.send_request(SEA, previous_response_id=begun))[1] == first


async def test_a_busy_server_leaves_the_request_to_the_other(pair: Pair) -> None:
    """llama.cpp does one thing at a time."""
    requested = [pair.send_request(SEA, input=FOR_EVER, max_output_tokens=50) for _ in range(6)]
    answered = Counter(name for _, name in await asyncio.gather(*requested))

    assert answered.keys() == {kind.name for kind in KINDS}


async def test_a_chain_goes_on_at_the_other_server(pair: Pair) -> None:
    """A chain that was begun at one goes on at the other in that one's own form."""
    begun, name = await pair.send_request(SEA, input=[{"role": "user", "content": "Hello"}])
    other = next(kind for kind in KINDS if kind.name != name)

    assert (await pair.send_request(other.model, previous_response_id=begun))[1] == other.name


async def test_where_one_dies_the_other_answers(pair: Pair) -> None:
    await pair.llama.stop()
    answered = Counter([(await pair.send_request(SEA))[1] for _ in range(6)])
    assert answered == {TRANSFORMERS.name: 6}

    await pair.llama.start()
    while (await pair.send_request(SEA))[1] != LLAMA.name:
        pass
