"""Filters in SQL find what the reference in Python finds, in both databases."""

from collections.abc import AsyncIterator, Mapping

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from antiphon.ids import new_id
from antiphon.search.filters import OPERATORS, AttributeValue, Comparison, Compound, Filter, matches
from antiphon.storage.chunk_writer import put_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks as stored_chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from antiphon.storage.store import Store
from tests.support.chance import examples

KEYS = ["a", "b", "key'; --"]
VALUES: list[AttributeValue] = [
    *(True, False, 0, 1, -1, 1.5, 2**53, 1e300, 10**18),
    *("", "1", "true", "a", "A", "ä", "é", "e\u0301", "%", "\U0001f600", "机"),
]
keys = st.sampled_from(KEYS)
values = st.sampled_from(VALUES)
comparisons = st.sampled_from(OPERATORS).flatmap(
    lambda operator: st.builds(
        Comparison,
        st.just(operator),
        keys,
        st.lists(values, max_size=3).map(tuple) if operator in ("in", "nin") else values,
    )
)
filters: st.SearchStrategy[Filter] = st.recursive(
    comparisons,
    lambda inner: st.builds(
        Compound, st.sampled_from(["and", "or"]), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=6,
)
attributes = st.dictionaries(keys, values, max_size=3)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


@pytest.mark.wide
@given(st.lists(attributes, min_size=1, max_size=5), st.lists(filters, min_size=1, max_size=8))
@examples(40, suppress_health_check=list(HealthCheck))
async def test_the_database_finds_what_the_reference_finds(
    store: Store, files: list[Mapping[str, AttributeValue]], wanted: list[Filter]
) -> None:
    store_id = new_id("vs")
    names: dict[str, Mapping[str, AttributeValue]] = {}
    for one in files:
        file = IndexedFile("", store_id, new_id("file"), 1, "a.txt")
        await put_chunks(store, file, [ChunkRow(0, "word", 1)])
        await store.write(stored_chunks.publish, file)
        await store.write(stored_chunks.set_attributes, "", store_id, file.file_id, one)
        names[file.file_id] = one
    for one in wanted:
        matched = await store.read(stored_chunks.match_keywords, "", store_id, ["word"], one, 100)
        chunks = await store.read(
            stored_chunks.found_chunks, "", [number for number, _, _ in matched.chunks]
        )

        assert {chunk.file_id for chunk in chunks} == {
            name for name in names if matches(one, names[name])
        }, one
        assert all(chunk.attributes == names[chunk.file_id] for chunk in chunks)
