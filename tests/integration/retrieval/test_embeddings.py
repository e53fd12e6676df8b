"""Embeddings of servers as they are: with limits of many spellings, busy, away, and back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.errors import AntiphonError, BackendError
from antiphon.retrieval import embeddings
from antiphon.retrieval.embeddings import ATTEMPTS, PATIENCE, Embedder
from antiphon.search.contract import UnavailableError
from antiphon.search.vectors import floats
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.outages import Outages
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.cases import each
from tests.support.embedding_server import (
    BUSY,
    DASHSCOPE,
    DOWN,
    LLAMA_LENGTH,
    MODEL,
    OLLAMA_LENGTH,
    OPENAI_LENGTH,
    TEI,
    UNKNOWN_LENGTH,
    UNPROCESSABLE,
    EmbeddingServer,
    embedding_server,
    tokens_of,
)
from tests.support.parts import scripted_parts
from tests.support.waiting import LoopClock

T = "tenant"
TEXTS = [f"High water number {n} is at nine." for n in range(100)]
LONG = " ".join(TEXTS)


class Pauses:
    """Lets the clocks of a test pass time instead of waiting, and remembers how much."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[float] = []
        self._clock = LoopClock(monkeypatch)
        self.then: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, seconds: float) -> None:
        self.all.append(seconds)
        self._clock.advance(seconds)
        if self.then is not None:
            await self.then()


@asynccontextmanager
async def embedder(
    server: EmbeddingServer, pauses: Pauses | None = None, **fields: Any
) -> AsyncIterator[Embedder]:
    """An embedder in front of a server."""
    created, _ = scripted_parts()
    backend = HttpBackend("tei", server.url)
    created.models.assign([backend], {"tei": "generic"})
    created.models.clock = asyncio.get_running_loop().time
    more = fields if pauses is None else {"pause": pauses, **fields}
    try:
        yield Embedder(MODEL, created.run.router, created.run.observers, Outages(), **more)
    finally:
        await backend.close()


def joined(parts: Any) -> str:
    return "".join(part.text for part in parts)


@each(
    ("refusal", "most_texts"),
    [(DASHSCOPE, 10), (TEI, 32), (UNPROCESSABLE, 48), (DASHSCOPE, 1), ((500, "too many"), 7)],
)
async def test_the_number_of_texts_that_a_server_accepts_is_learned(
    refusal: Any, most_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_limits = {"most_texts": most_texts, "too_many": refusal}
    async with (
        embedding_server(**server_limits) as server,
        embedder(server, Pauses(monkeypatch)) as created,
    ):
        parts = await created.embed_parts(TEXTS, T)
        assert [joined(one) for one in parts] == TEXTS
        server.calls.clear()
        await created.embed_parts(TEXTS, T)
        assert max(map(len, server.calls)) <= most_texts
        assert [text for call in server.calls for text in call] == TEXTS


async def test_a_setting_limits_the_texts_of_a_call() -> None:
    async with embedding_server() as server, embedder(server, texts=7) as created:
        await created.embed_parts(TEXTS[:20], T)
        assert [len(call) for call in server.calls] == [7, 7, 6]


async def test_long_vectors_come_in_smaller_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "MOST_NUMBERS", 30)  # the server's vectors have three numbers
    async with embedding_server() as server, embedder(server) as created:
        await created.embed_parts(TEXTS[:1], T)
        server.calls.clear()
        await created.embed_parts(TEXTS[:25], T)
        assert [len(call) for call in server.calls] == [10, 10, 5]


@each(
    "refusal",
    [OPENAI_LENGTH, OLLAMA_LENGTH, LLAMA_LENGTH, UNKNOWN_LENGTH, (413, "too large"), (422, {})],
)
async def test_a_text_that_is_too_long_is_split_until_it_fits(
    refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        embedding_server(most_tokens=100, too_long=refusal) as server,
        embedder(server, Pauses(monkeypatch)) as created,
    ):
        parts = await created.embed_parts([*TEXTS[:20], LONG, *TEXTS[:20]], T)
        assert [joined(one) for one in parts] == [*TEXTS[:20], LONG, *TEXTS[:20]]
        assert all(tokens_of(part.text) <= 100 for one in parts for part in one)
        server.calls.clear()
        await created.embed_parts([LONG], T)
        assert len(server.calls) == 1, "the length is not learned"
        assert len(await created.embed([LONG], T)) == 1


@each("status", [BUSY, DOWN])
async def test_a_busy_server_is_retried_after_its_retry_after(
    status: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = Pauses(monkeypatch)
    async with (
        embedding_server(busy=[(status, {"retry-after": "7"}), (status, {})]) as server,
        embedder(server, pauses) as created,
    ):
        assert len(await created.embed_parts(TEXTS[:2], T)) == 2
        assert pauses.all[0] >= 7
        assert len(pauses.all) >= 2


async def test_a_server_that_restarts_costs_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = Pauses(monkeypatch)
    async with embedding_server() as server, embedder(server, pauses) as created:
        await created.embed_parts(TEXTS[:1], T)
        await server.leave()

        async def back() -> None:
            if sum(pauses.all) > 30:
                await server.begin()
                pauses.then = None

        pauses.then = back
        assert [joined(one) for one in await created.embed_parts(TEXTS, T)] == TEXTS


async def test_a_server_that_stays_away_is_unavailable_after_minutes_and_a_search_fails_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses = Pauses(monkeypatch)
    async with embedding_server() as server, embedder(server, pauses) as created:
        await created.embed_parts(TEXTS[:1], T)
        await server.leave()
        with pytest.raises(UnavailableError):
            await created.embed_parts(TEXTS[:1], T)
        assert 30 <= sum(pauses.all) <= PATIENCE
        pauses.all.clear()
        with pytest.raises(BackendError) as caught:
            await created.embed(TEXTS[:1], T)
        assert (caught.value.status, pauses.all) == (503, [])


async def test_a_rate_limit_does_not_keep_searches_from_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another tenant may have caused it."""
    refusals = [(BUSY, {})] * 3
    async with (
        embedding_server(busy=refusals) as server,
        embedder(server, Pauses(monkeypatch)) as created,
    ):
        with pytest.raises(AntiphonError) as caught:
            await created.embed(TEXTS[:1], T)
        assert caught.value.status == 429
        server.busy.clear()
        assert await created.embed(TEXTS[:1], "other")


async def test_a_server_that_refuses_everything_fails_with_its_reason_and_teaches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        embedding_server(most_texts=0) as server,
        embedder(server, Pauses(monkeypatch)) as created,
    ):
        with pytest.raises(BackendError, match="not be larger than 10") as caught:
            await created.embed_parts([LONG], T)
        assert not isinstance(caught.value, UnavailableError)
        server.most_texts = 64
        server.calls.clear()
        await created.embed_parts(TEXTS, T)
        assert [len(call) for call in server.calls] == [64, 36]


async def test_a_text_that_is_refused_at_any_length_teaches_nothing() -> None:
    async with embedding_server() as server, embedder(server) as created:
        with pytest.raises(BackendError):
            await created.embed_parts([*TEXTS[:9], LONG + "\0"], T)
        server.calls.clear()
        await created.embed_parts([LONG], T)
    assert server.calls == [[LONG]]


async def test_the_length_that_texts_of_one_tenant_need_splits_no_text_of_others() -> None:
    async with embedding_server(most_tokens=100) as server, embedder(server) as created:
        await created.embed_parts([LONG], T)
        server.most_tokens = 8192
        server.calls.clear()
        await created.embed_parts([LONG], "other")
        await created.embed_parts([LONG], T)
    assert server.calls[0] == [LONG]
    assert len(server.calls[1]) > 1


async def test_a_search_for_a_long_text_has_the_mean_of_its_parts() -> None:
    async with embedding_server(most_tokens=200) as server, embedder(server) as created:
        half = "feline " * 60
        (vector,) = await created.embed([half + "bill " * 84], T)
        near_cat, near_bill, _ = floats(vector)
        assert len(server.accepted) >= 2
        assert 0.3 < near_cat < 0.95
        assert 0.3 < near_bill < 0.95


async def test_an_outage_of_another_kind_than_of_texts_splits_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A 500 for every text, a tiny one too, is an outage."""
    pauses = Pauses(monkeypatch)
    backend = ScriptedBackend(lambda _: (500, {"error": {"message": "CUDA error"}}), models=[MODEL])
    created, _ = scripted_parts()
    created.models.assign([backend], {backend.name: "generic"})
    with pytest.raises(UnavailableError):
        await Embedder(
            MODEL, created.run.router, created.run.observers, Outages(), pause=pauses
        ).embed_parts([LONG], T)
    assert {len(request["input"]) for request in backend.requests} == {1}
    assert {request["input"][0] for request in backend.requests} == {LONG, "a"}
    assert len(backend.requests) > ATTEMPTS


async def test_limits_are_learned_for_each_backend_and_forgotten_after_a_day() -> None:
    clock = [0.0]
    async with embedding_server(most_texts=10) as server:
        created, _ = scripted_parts()
        backend = HttpBackend("tei", server.url)
        created.models.assign([backend], {"tei": "generic"})
        one = Embedder(MODEL, created.run.router, created.run.observers, Outages(lambda: clock[0]))
        await one.embed_parts(TEXTS, T)
        server.most_texts = 64
        sizes = []
        for now in (0.0, 86_401.0):
            clock[0] = now
            server.calls.clear()
            await one.embed_parts(TEXTS, T)
            sizes.append(len(server.calls[0]))
        await backend.close()
    assert sizes == [8, 64]
