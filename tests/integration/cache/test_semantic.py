"""Questions that mean the same are answered from the cache, where an operator wants that."""

import asyncio
import logging
import math
from typing import Any

import pytest

from antiphon.cache.vectors import (
    MOST,
    QuestionEntry,
    cosine,
    from_bytes,
    nearest,
    to_bytes,
    unit,
    with_entry,
)
from antiphon.config import Settings
from antiphon.errors import BackendError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import NOW, begin, foundation, parts_with, query, stated

CACHED: dict[str, Any] = {"antiphon": {"cache": True}}
DEGREES = {"How old is it?": 0, "What is its age?": 5, "Where is it?": 80}
"""Where questions lie on a circle."""


def embedding(request: dict[str, Any]) -> Any:
    angle = math.radians(DEGREES[request["input"]])
    return {"object": "list", "data": [{"embedding": [3 * math.cos(angle), 3 * math.sin(angle)]}]}


def comparing(
    embed: Any = embedding, threshold: float = 0.95, store: Store | None = None
) -> tuple[Parts, ScriptedBackend, list[str]]:
    """Parts that compare questions, its model, which counts its answers, and what is embedded."""
    embedded: list[str] = []

    def script(request: dict[str, Any]) -> Any:
        if "input" not in request:
            return stated(f"answer {len(backend.requests) - len(embedded)}")
        embedded.append(request["input"])
        return embed(request)

    backend = ScriptedBackend(script, models=["m", "e"])
    models = ModelRegistry([backend], lambda: NOW, {backend.name: "generic"})
    settings = Settings(cache_embeddings="e", cache_similarity=threshold)
    return parts_with(foundation(models, store, settings)), backend, embedded


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] for part in item["content"])


async def test_a_question_that_means_the_same_is_answered_from_the_cache() -> None:
    parts, _, _ = comparing()
    first = await query(parts, input="How old is it?", **CACHED)
    run = await begin(parts, input="What is its age?", **CACHED)
    response = await run.result()
    assert [part.text for item in response.output for part in item.content] == [text_of(first)]
    assert (run.cache, round(run.similarity or 0, 3)) == ("hit", 0.996)


async def test_a_question_with_another_meaning_is_sent_to_the_model() -> None:
    parts, _, _ = comparing()
    answers = [
        text_of(await query(parts, input=question, **CACHED))
        for question in ("How old is it?", "Where is it?")
    ]
    assert answers == ["answer 1", "answer 2"]


async def test_the_same_words_need_no_embedding() -> None:
    parts, _, embedded = comparing()
    for _ in range(3):
        await query(parts, input="How old is it?", **CACHED)
    assert embedded == ["How old is it?"]


async def test_the_threshold_is_the_operators() -> None:
    parts, _, _ = comparing(threshold=0.999)
    answers = [
        text_of(await query(parts, input=question, **CACHED))
        for question in ("How old is it?", "What is its age?")
    ]
    assert answers == ["answer 1", "answer 2"]


@pytest.mark.parametrize(
    "other",
    [
        {"instructions": "Be brief."},
        {"temperature": 0.5},
        {
            "input": [
                {"role": "user", "content": "Before"},
                {"role": "user", "content": "What is its age?"},
            ]
        },
        {"tools": [{"type": "function", "name": "look", "parameters": {}}]},
    ],
)
async def test_everything_but_the_users_last_message_must_be_the_same(
    other: dict[str, Any],
) -> None:
    parts, _, _ = comparing()
    await query(parts, input="How old is it?", **CACHED)
    assert (
        text_of(await query(parts, **{"input": "What is its age?", **CACHED, **other}))
        == "answer 2"
    )


async def test_another_tenants_questions_are_not_compared() -> None:
    parts, backend, _ = comparing()
    for tenant, question in (("a", "How old is it?"), ("b", "What is its age?")):
        body = f'{{"model": "m", "input": "{question}", "antiphon": {{"cache": true}}}}'.encode()
        await (
            await Gateway(parts).create(decode_request(body), RequestIdentity(tenant=tenant))
        ).result()
    assert sum("messages" in request for request in backend.requests) == 2


async def test_many_equal_questions_at_once_are_embedded_once_and_answered_from_the_similar_one() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    parts, backend, embedded = comparing()
    await query(parts, input="How old is it?", **CACHED)
    answers = await asyncio.gather(
        *(query(parts, input="What is its age?", **CACHED) for _ in range(20))
    )
    assert {text_of(answer) for answer in answers} == {"answer 1"}
    assert embedded == ["How old is it?", "What is its age?"]
    assert sum("messages" in request for request in backend.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        BackendError("gone"),
        (501, {"error": {"message": "This server does not support embeddings: How old is it?"}}),
        {"data": []},
        {"data": [{"embedding": [0.0, 0.0]}]},
        {"data": [{"embedding": ["x"]}]},
    ],
)
async def test_without_an_embedding_the_model_is_called_and_the_question_is_not_logged(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    parts, _, _ = comparing(lambda request: answer)
    with caplog.at_level(logging.WARNING):
        assert text_of(await query(parts, input="How old is it?", **CACHED)) == "answer 1"
    assert "Cannot search the cache" in caplog.text
    assert "How old" not in caplog.text
    assert parts.models.backends[0].health.failures <= 1


async def test_a_forgotten_answer_to_a_similar_question_is_created_again() -> None:
    now = NOW
    parts, _, _ = comparing(store=SqliteStore.open("sqlite://", now=lambda: now))
    await query(parts, input="How old is it?", antiphon={"cache": {"ttl": 10}})
    await query(parts, input="Where is it?", antiphon={"cache": {"ttl": 100}})
    now += 50
    assert text_of(await query(parts, input="What is its age?", **CACHED)) == "answer 3"


def test_only_so_many_vectors_are_compared() -> None:
    entries: list[QuestionEntry] = []
    for number in range(MOST + 10):
        entries = with_entry(entries, QuestionEntry(bytes([number]), unit([1.0, number]) or b""))
    assert [entry.key for entry in entries] == [
        bytes([number]) for number in range(MOST + 9, 9, -1)
    ]
    assert from_bytes(to_bytes(entries)) == entries


def test_the_nearest_is_found_among_vectors_of_its_own_kind() -> None:
    vectors = {b"x": [1.0, 0.0], b"y": [0.0, 2.0], b"other": [1.0, 1.0, 1.0]}
    entries = [QuestionEntry(key, unit(numbers) or b"") for key, numbers in vectors.items()]
    found = nearest(entries, unit([1.0, 9.0]) or b"")
    assert found is not None
    assert found[0].key == b"y"
    assert nearest([], b"") is None


def test_a_vector_is_as_close_to_itself_as_can_be_whatever_its_length() -> None:
    one = unit([1.0, 2.0, 3.0])
    other = unit([10.0, 20.0, 30.0])
    assert one is not None
    assert other is not None
    assert cosine(one, other) == pytest.approx(1.0)


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [math.inf, 1.0], [math.nan]])
def test_what_has_no_direction_is_no_vector(numbers: list[float]) -> None:
    assert unit(numbers) is None


@pytest.mark.parametrize("body", [None, b"", b"\xc1", b"text"])
def test_data_stored_by_another_version_has_no_vectors(body: bytes | None) -> None:
    assert from_bytes(body) == []
