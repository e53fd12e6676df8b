"""The tokens and the cost of responses of all ends: facts and figures have what the key is charged
for.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.storage.open import open_store
from antiphon.storage.operations import facts_page, figures
from antiphon.storage.records.facts import ESTIMATED, Facts, FactsQuery
from antiphon.storage.records.figures import FiguresQuery, total_of
from antiphon.storage.records.tenants import Role
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.prices import NANO, Prices, nano
from tests.support.keys import bearing, issue
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually

PRICES = Prices(input=2 * NANO, cached_input=NANO // 2, output=10 * NANO)

REPORT = {
    "prompt_tokens": 30,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
REPORTED = sse(delta(content="Once"), delta("stop") | {"usage": REPORT})
SILENT = sse(delta(content="Once upon a time"), delta("stop"))
BROKEN = sse(delta(content="Once upon a time"), done=False)


@pytest.fixture
async def priced(backend: ReplayBackend, store_url: str) -> AsyncIterator[RunningServer]:
    """A server with prices, and a client with a key."""
    store = await open_store(store_url)
    key = await issue(store, "acme", role=Role.READ)
    options = BackendOptions(configured=(ModelOptions("m", prices=PRICES),))
    host = HttpBackend("replay", backend.url, "")
    async with serve(host, store=store, shares={"replay": options}) as server:
        server.http.headers.update(bearing(key))
        yield server


async def send(server: RunningServer, **fields: Any) -> str:
    """Send a request; return its reply, as far as it came."""
    body = {"model": "m", "input": "Tell me"} | fields
    async with server.http.post(f"{server.url}/responses", json=body) as reply:
        return await reply.text()


async def facts_of(server: RunningServer, count: int = 1) -> list[Facts]:
    """The newest facts, once so many responses have ended."""
    store = server.parts.store
    page = await eventually(
        lambda: store.read(facts_page.page, "acme", FactsQuery(100)),
        lambda page: sum(one.ended is not None for one in page.facts) >= count,
    )
    return list(page.facts)


async def test_reported_tokens_are_those_of_the_backend(
    priced: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([REPORTED])
    await send(priced, stream=True)
    (facts,) = await facts_of(priced)

    assert (facts.input_tokens, facts.cached_tokens) == (30, 10)
    assert (facts.output_tokens, facts.reasoning_tokens) == (20, 5)
    assert facts.cost == 20 * 2_000 + 10 * 500 + 20 * 10_000
    assert not facts.flags & ESTIMATED


@pytest.mark.parametrize(
    ("answer", "status"), [(BROKEN, "failed"), (SILENT, "completed")], ids=["broken", "silent"]
)
async def test_tokens_without_a_report_are_counted_in_the_texts(
    priced: RunningServer, backend: ReplayBackend, answer: bytes, status: str
) -> None:
    backend.script = lambda _: Answer([answer])
    await send(priced, stream=True)
    (facts,) = await facts_of(priced)

    assert (facts.status, facts.flags & ESTIMATED) == (status, ESTIMATED)
    assert facts.input_tokens > 0 and facts.output_tokens > 0
    assert facts.cost == 2_000 * facts.input_tokens + 10_000 * facts.output_tokens


async def test_a_response_from_the_cache_used_no_tokens(
    priced: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([completion("Hi")], JSON)
    priced.http.headers["antiphon-cache"] = "on"
    for _ in range(2):
        await send(priced)
    cached, first = await facts_of(priced, 2)

    assert (first.input_tokens, first.output_tokens) == (5, 1)
    assert (cached.input_tokens, cached.output_tokens, cached.cost) == (0, 0, 0)


async def leave(server: RunningServer) -> None:
    """Disconnect after the first words of a stream."""
    body = {"model": "m", "input": "Tell me", "stream": True}
    async with server.http.post(f"{server.url}/responses", json=body) as reply:
        async for line in reply.content:
            if b"output_text.delta" in line:
                return


async def test_figures_have_what_the_key_is_charged_for(
    priced: RunningServer, backend: ReplayBackend
) -> None:
    ends = [
        *(({"stream": stream}, REPORTED) for stream in (True, False)),
        *(({"stream": stream}, SILENT) for stream in (True, False)),
        *(({"stream": stream}, BROKEN) for stream in (True, False)),
        ({"stream": True, "store": False}, REPORTED),
        ({"stream": True, "store": False}, BROKEN),
        ({}, sse(delta(content="Once"), delta("length") | {"usage": REPORT})),
        ({"background": True}, REPORTED),
        ({"background": True}, BROKEN),
    ]
    for count, (fields, answer) in enumerate(ends, 1):
        backend.script = lambda _, answer=answer: Answer([answer])
        await send(priced, **fields)
        await facts_of(priced, count)
    never = asyncio.Event()
    backend.script = lambda _: Answer([sse(delta(content="Once"), done=False)], wait=never)
    await leave(priced)
    facts = await facts_of(priced, len(ends) + 1)
    query = FiguresQuery(0, int(time.time()) + 60, 3_600)
    found = await priced.parts.store.read(figures.figures, "acme", query)
    total = total_of([*found.spans.values()])

    assert {one.status for one in facts} == {"completed", "failed", "incomplete", "cancelled"}
    status, body = await priced.get("/usage?group_by=key")
    (row,) = body["data"]  # type: ignore[misc] # JSON
    assert status == 200
    charged: Any = row
    assert total.input_tokens == charged["input_tokens"] == sum(one.input_tokens for one in facts)
    assert total.cached_tokens == charged["cached_input_tokens"]
    assert total.output_tokens == charged["output_tokens"]
    assert total.cost == nano(charged["cost"]["value"])
    assert total.responses == charged["requests"] == len(facts)
