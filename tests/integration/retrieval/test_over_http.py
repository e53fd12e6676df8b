"""Files are embedded when they are ingested, and found by what they mean, through the API."""

import asyncio
from typing import Any

import openai
import pytest

from antiphon.storage.operations import api_keys
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.keys import issued
from tests.support.server import serve

MEANINGS = {"cat": [1.0, 0.0], "feline": [0.95, 0.1], "invoice": [0.0, 1.0], "bill": [0.1, 0.95]}


def embedded(request: dict[str, Any]) -> Any:
    found = [
        next((MEANINGS[word] for word in MEANINGS if word in text), [0.5, 0.5])
        for text in request["input"]
    ]
    return {
        "object": "list",
        "data": [{"index": n, "embedding": one} for n, one in enumerate(found)],
    }


@pytest.mark.wide
async def test_a_query_finds_what_means_the_same(store_url: str) -> None:
    backend = ScriptedBackend(embedded, models=["e"])
    async with serve(backend, store=store_url) as server:
        server.parts.run.rules.embedding_model = "e"
        stores = server.sdk.vector_stores
        store = (await stores.create(name="notes")).id
        for text in ("The cat sleeps all day.", "The invoice is due in March."):
            file = ("a.txt", text.encode())
            done = await stores.files.upload_and_poll(
                vector_store_id=store, file=file, poll_interval_ms=20
            )
            assert (done.status, done.usage_bytes) == ("completed", len(text) + 4)
        for query, text in (
            ("feline", "The cat sleeps all day."),
            ("bill", "The invoice is due in March."),
        ):
            first = (await stores.search(store, query=query)).data[0]
            assert (first.content[0].text, first.filename) == (text, "a.txt")
            assert 0 < first.score <= 1


async def test_a_model_that_cannot_embed_fails_a_search_without_keywords_with_its_reason() -> None:
    broken = False

    def script(request: dict[str, Any]) -> Any:
        return {"object": "list", "data": []} if broken else embedded(request)

    async with serve(ScriptedBackend(script, models=["e"])) as server:
        server.parts.run.rules.embedding_model = "e"
        stores = server.sdk.with_options(max_retries=0).vector_stores
        store = (await stores.create(name="notes")).id
        file = ("a.txt", b"The cat sleeps.")
        await stores.files.upload_and_poll(vector_store_id=store, file=file, poll_interval_ms=20)
        broken = True
        with pytest.raises(
            openai.InternalServerError, match="The embedding model 'e' returned 0 vectors"
        ):
            weights = {"embedding_weight": 1, "text_weight": 0}
            await stores.search(
                store, query="cat", extra_body={"ranking_options": {"hybrid_search": weights}}
            )


@pytest.mark.wide("postgres")
async def test_tokens_of_embeddings_are_charged_to_the_key_that_attached_the_file_or_searched(
    store_url: str,
) -> None:
    """As a backend reports them, for files that are ingested later too."""

    def script(request: dict[str, Any]) -> Any:
        return embedded(request) | {
            "usage": {"prompt_tokens": 70 * len(request["input"]), "total_tokens": 70}
        }

    async with serve(ScriptedBackend(script, models=["e"]), store=store_url) as server:
        server.parts.run.rules.embedding_model = "e"
        key, requesting = await issued(server.parts.store, "acme")
        other, filing = await issued(server.parts.store, "acme")
        stores = server.sdk.with_options(api_key=other).vector_stores
        store = (await stores.create(name="notes")).id
        done = await stores.files.upload_and_poll(
            vector_store_id=store, file=("a.txt", b"The cat sleeps."), poll_interval_ms=20
        )
        assert done.status == "completed"
        await server.sdk.with_options(api_key=key).vector_stores.search(
            store, query=["cat", "bill"]
        )
        await server.parts.jobs.meter.settle()
        rows = await server.parts.store.read(api_keys.usage, "acme", 0, 2**40, ("key", "model"))
    used = {(row.key_id, row.model): row.input_tokens for row in rows if row.input_tokens}
    assert {key_id: tokens for (key_id, _), tokens in used.items()} == {
        filing.id: 70,
        requesting.id: 140,
    }


async def test_first_searches_at_once_share_their_turns_and_their_signatures() -> None:
    async with serve(ScriptedBackend(embedded, models=["e"])) as server:
        server.parts.run.rules.embedding_model = "e"
        stores = server.sdk.vector_stores
        store = (await stores.create(name="notes")).id
        file = ("a.txt", b"The cat sleeps.")
        await stores.files.upload_and_poll(vector_store_id=store, file=file, poll_interval_ms=20)
        assert "signatures" not in server.parts.shared.usage()
        found = await asyncio.gather(*(stores.search(store, query="feline") for _ in range(4)))
        shared = server.parts.shared.usage()

    assert [len(one.data) for one in found] == [1] * 4
    assert (shared["searches"].capacity, shared["signatures"].capacity) == (5, 128)
