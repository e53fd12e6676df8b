"""Chunks of files in vector stores: inserted, searched and deleted.

A version of a file is written in parts, which searches do not see, and becomes searchable as a
whole when it is published. Dropped chunks are hidden from searches immediately. Their rows are
deleted later, a few at a time, because one file can have 100,000 of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from antiphon.search.bm25 import MOST_READ, Corpus, query_terms
from antiphon.search.filters import AttributeValue, Filter, kind_of
from antiphon.search.index_terms import expression, indexed, lexemes, prefixed
from antiphon.search.vectors import signature
from antiphon.storage.operations.chunk_filters import Conditions, column_value
from antiphon.storage.operations.chunk_parts import Termed
from antiphon.storage.operations.step import (
    UNKNOWN_ITEMS,
    Operation,
    Row,
    announce_read,
    first,
    query_composed,
    query_many,
    query_rows,
    query_where,
    reads,
    writes,
)
from antiphon.storage.records.chunks import (
    MOST_CHUNKS,
    POSITION_BITS,
    ChunkRow,
    DroppedChunks,
    FoundChunk,
    IndexedFile,
    KeywordMatches,
    SearchedStore,
    Signatures,
    TermCounts,
    file_of,
    size_of,
)
from antiphon.storage.records.vector_stores import Ingestion, StoreFile

MAX_REQUESTED = 256
"""Maximum number of terms of a query that are looked up in the index. Longer queries repeat
themselves.
"""

FEW_CHUNKS = 2_000
"""Maximum number of chunks of a store for searches to count as small reads."""

FEW_VECTORS = 100
"""Maximum number of vectors for a small read. They are the slowest part of a search: 400 take 4 to
20 ms.
"""


@writes("write_chunks")
def write(ingestion: Ingestion, chunks: Sequence[Termed[ChunkRow]]) -> Operation[bool]:
    """Add some of a file's chunks, unless another worker owns the file now."""
    if not (yield from query_rows("fence_ingestion", ingestion.seq, ingestion.file.version)):
        return False
    return (yield from put(indexed_file(ingestion.file), chunks))


def indexed_file(file: StoreFile) -> IndexedFile:
    """Return the newest version of a file in a vector store, as its chunks refer to it."""
    return IndexedFile(file.tenant, file.store_id, file.file_id, file.version, file.filename)


@writes("put_chunks")
def put(file: IndexedFile, chunks: Sequence[Termed[ChunkRow]]) -> Operation[bool]:
    """Insert some chunks of a version of a file, hidden until `publish`.

    Existing rows are unchanged.

    Return False, and insert nothing, if this version is already published or a newer version
    exists. Run it in one transaction with a check that the file is still in the store: this
    operation does not know that it was dropped.
    """
    store = yield from _store_of(file.tenant, file.store_id)
    newest = yield from first("newest_version", store, file.file_id)
    if newest is not None and newest[0] is not None and newest[0] > file.version:
        return False
    yield from query_rows(
        "put_indexed_file", store, file.tenant, file.file_id, file.version, file.filename
    )
    found = yield from first("indexed_file", store, file.file_id, file.version)
    if found is None or found[1]:
        return False
    if chunks:
        begin = found[0] << POSITION_BITS
        there = yield from query_rows(
            "chunks_at", begin + chunks[0][0].position, begin + chunks[-1][0].position
        )
        known = {row[0] - begin for row in there}
        new = [chunk for chunk in chunks if chunk[0].position not in known]
        for row, terms in new:
            yield from _put_chunk(store, begin, row, terms)
        rows = [row for row, _ in new]
        yield from query_many("put_signatures", list(_signatures(begin, rows)))
        count = sum(len(terms) for _, terms in new)
        size = sum(map(size_of, rows))
        yield from query_rows("grow_indexed_file", found[0], len(new), count, size)
    return True


@writes("publish_chunks")
def publish(file: IndexedFile) -> Operation[int | None]:
    """Publish this version to searches, in place of older versions; return the bytes of its texts
    and vectors.

    Return None, and change nothing, if a newer version exists.
    """
    store = yield from _store_of(file.tenant, file.store_id)
    newest = yield from first("newest_version", store, file.file_id)
    if newest is not None and newest[0] is not None and newest[0] > file.version:
        return None
    yield from query_rows(
        "put_indexed_file", store, file.tenant, file.file_id, file.version, file.filename
    )
    found = yield from first("indexed_file", store, file.file_id, file.version)
    if found is None:
        return None
    number, _, _, _, size = found
    yield from query_rows("publish_indexed_file", number)
    yield from query_rows("drop_other_versions", store, file.file_id, file.version, number)
    yield from query_rows("count_searched_store", store)
    return int(size)


@writes("drop_chunks", frees=True)
def drop(tenant: str, store_id: str, file_id: str | None) -> Operation[None]:
    """Hide a file of a store, or all its files, from searches immediately.

    Also drops the attributes.
    """
    row = yield from first("searched_store", store_id, tenant)
    if row is None:
        return
    if file_id is None:
        yield from query_rows("drop_indexed_files", row[0])
        yield from query_rows("delete_all_attributes", row[0])
    else:
        yield from query_rows("drop_indexed_file", row[0], file_id)
        yield from query_rows("delete_attributes", row[0], file_id)
    yield from query_rows("count_searched_store", row[0])


def drop_unfinished(tenant: str, store_id: str, file_id: str) -> Operation[None]:
    """Drop the unpublished versions of a file; searches still see the published one."""
    row = yield from first("searched_store", store_id, tenant)
    if row is not None:
        yield from query_rows("drop_unfinished_files", row[0], file_id)


@writes("set_chunk_attributes")
def set_attributes(
    tenant: str, store_id: str, file_id: str, attributes: Mapping[str, AttributeValue]
) -> Operation[None]:
    """Replace the attributes of a file in a store."""
    store = yield from _store_of(tenant, store_id)
    yield from query_rows("delete_attributes", store, file_id)
    yield from query_many(
        "put_attribute", [(store, file_id, key, *_columns(one)) for key, one in attributes.items()]
    )


@writes("dropped_chunks", is_of_all=True, frees=True)
def dropped(most: int) -> Operation[DroppedChunks | None]:
    """Return up to `most` chunks of a dropped file, which `sweep` deletes; None if there is no
    dropped file.
    """
    found = yield from first("dropped_file")
    if found is None:
        return None
    file, store = found
    rows = yield from query_rows("some_chunks", *_bounds(file), most)
    return DroppedChunks(file, store, [(number, body) for number, body in rows], len(rows) < most)


@writes("sweep_chunks", is_of_all=True, frees=True)
def sweep(file: DroppedChunks, chunks: Sequence[Termed[int]]) -> Operation[int]:
    """Delete consecutive chunks of a dropped file; return how many of them another sweep has not
    deleted meanwhile.
    """
    begin = chunks[0][0]
    end = chunks[-1][0]
    if not (yield from query_rows("lock_dropped_file", file.number)):
        return 0
    there = {row[0] for row in (yield from query_rows("chunks_at", begin, end))}
    for number, terms in chunks:
        if number in there:
            yield from query_rows("delete_words", number, indexed(file.store, terms))
    yield from query_rows("delete_chunks", begin, end)
    return len(there)


@writes("forget_dropped_file", is_of_all=True, frees=True)
def forget(file: DroppedChunks) -> Operation[None]:
    """Delete a dropped file after all its chunks."""
    yield from query_rows("delete_signatures", *_bounds(file.number))
    yield from query_rows("delete_indexed_file", file.number)
    yield from query_rows("delete_searched_store", file.store)


@reads("searched_store")
def searched_store(tenant: str, store_id: str) -> Operation[SearchedStore | None]:
    """Return the size of the store as searches see it, or None if no chunk was ever stored for
    it.
    """
    row = yield from first("searched_store", store_id, tenant)
    return SearchedStore(*row) if row else None


@reads("match_keywords")
def match_keywords(
    tenant: str,
    store_id: str,
    terms: Sequence[str],
    filters: Filter | None,
    most: int,
    known: TermCounts | None = None,
) -> Operation[KeywordMatches]:
    """Return at most `most` chunks that match the terms best, from the files that pass the filter.

    The counts in `known` are used if the store still has their revision; all other counts are
    computed.
    """
    row = yield from first("searched_store", store_id, tenant)
    if row is None or not row[1]:
        return KeywordMatches(Corpus(0, 0, {}))
    store, chunks, length, revision = row
    if chunks > FEW_CHUNKS:
        yield from announce_read(UNKNOWN_ITEMS)
    counted = known.counts if known is not None and known.revision == revision else {}
    requested = list(dict.fromkeys(terms))[:MAX_REQUESTED]
    new = {prefixed(store, term): term for term in requested if term not in counted}
    found = (
        (yield from query_rows("word_counts", msgspec.json.encode(list(new)).decode(), store))
        if new
        else ()
    )
    counts = {term: counted.get(term, 0) for term in requested} | {
        new[word]: int(count) for word, count in found
    }
    corpus = Corpus(chunks, length, counts)
    polled = query_terms(corpus)
    if not polled:
        return KeywordMatches(corpus, revision)
    weights = corpus.weights()
    weighted = msgspec.json.encode(
        lexemes(store, {term: weights[term] for term in polled})
    ).decode()
    conditions = Conditions(5)
    where = conditions.where(filters)
    provided = expression(store, polled), store, most, weighted, MOST_READ
    rows = yield from query_where("match_words", where, *provided, *conditions.values)
    return KeywordMatches(
        corpus, revision, [(number, text, length) for number, length, text in rows]
    )


@reads("found_files")
def found_files(tenant: str, store_id: str, filters: Filter | None) -> Operation[frozenset[int]]:
    """Return the numbers of the published files that pass the filter."""
    row = yield from first("searched_store", store_id, tenant)
    if row is None:
        return frozenset()
    if row[1] > FEW_CHUNKS:
        yield from announce_read(UNKNOWN_ITEMS)
    conditions = Conditions(1)
    where = conditions.where(filters)
    return frozenset(
        found[0]
        for found in (yield from query_where("found_files", where, row[0], *conditions.values))
    )


@reads("signatures")
def signatures(tenant: str, store_id: str, known: frozenset[int]) -> Operation[Signatures]:
    """Return the published files, and the signatures of the files that are not in `known`."""
    row = yield from first("searched_store", store_id, tenant)
    if row is None:
        return Signatures(0, frozenset(), ())
    store, chunks, _, revision = row
    if chunks > FEW_CHUNKS:
        yield from announce_read(UNKNOWN_ITEMS)
    files = frozenset(found[0] for found in (yield from query_where("found_files", "", store)))
    new = files - known
    parts = []
    if len(new) > len(files) // 4:
        parts = [
            row
            for row in (yield from query_rows("signatures_of_store", store))
            if file_of(row[0]) in new
        ]
    else:
        for file in new:
            parts += yield from query_rows("signatures", *_bounds(file))
    return Signatures(
        revision, files, tuple((number, count, bytes(body)) for number, count, body in parts)
    )


@reads("vectors")
def vectors(tenant: str, numbers: Sequence[int]) -> Operation[dict[int, bytes]]:
    """Return the vectors of chunks by numbers that another method has returned to this tenant."""
    if len(numbers) > FEW_VECTORS:
        yield from announce_read(UNKNOWN_ITEMS)
    rows = yield from _query_numbered("SELECT seq, vector FROM chunks WHERE seq IN ({})", numbers)
    return {number: bytes(vector) for number, vector in rows if vector is not None}


@reads("found_chunks")
def found_chunks(tenant: str, numbers: Sequence[int]) -> Operation[list[FoundChunk]]:
    """Return the tenant's chunks with these numbers, in this order, without those that are no
    longer published.
    """
    text = (
        "SELECT chunks.seq, file_id, filename, body, store FROM chunks"
        " JOIN indexed_files ON indexed_files.seq = chunks.seq >> 20 WHERE chunks.seq IN ({})"
        " AND indexed_files.state = 1 AND tenant = {}"
    )
    rows = {row[0]: row for row in (yield from _query_numbered(text, numbers, tenant))}
    attributes: dict[tuple[int, str], Mapping[str, AttributeValue]] = {}
    for _, file_id, _, _, store in rows.values():
        if (store, file_id) not in attributes:
            found = yield from query_rows("attributes_of_file", store, file_id)
            attributes[store, file_id] = {key: _value(columns) for key, *columns in found}
    return [_found(rows[number], attributes) for number in numbers if number in rows]


def _store_of(tenant: str, store_id: str) -> Operation[int]:
    yield from query_rows("put_searched_store", store_id, tenant)
    row = yield from first("searched_store", store_id, tenant)
    if row is None:
        raise ValueError("the vector store belongs to another tenant")
    return int(row[0])


def _put_chunk(store: int, begin: int, row: ChunkRow, terms: Sequence[str]) -> Operation[None]:
    if not 0 <= row.position < MOST_CHUNKS:
        raise ValueError(f"a file cannot have more than {MOST_CHUNKS} chunks")
    number = begin + row.position
    yield from query_rows("put_chunk", number, len(terms), row.tokens, row.vector, row.text)
    yield from query_rows("put_words", number, indexed(store, terms))


def _signatures(begin: int, rows: Sequence[ChunkRow]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the packed signatures of consecutive rows, with the first number and the number of
    rows.
    """
    placed = [(begin + row.position, signature(row.vector)) for row in rows if row.vector]
    runs = groupby(enumerate(placed), key=lambda one: (one[1][0] - one[0], len(one[1][1])))
    for _, run in runs:
        members = [member for _, member in run]
        yield members[0][0], len(members), b"".join(signed for _, signed in members)


def _bounds(file: int) -> tuple[int, int]:
    """Return the lowest and the highest possible number of a file's chunks."""
    return file << POSITION_BITS, (file + 1 << POSITION_BITS) - 1


def _query_numbered(text: str, numbers: Sequence[int], *values: str) -> Operation[Sequence[Row]]:
    """Query chunks by their numbers.

    Lists are padded to a few lengths, so that statements stay prepared.
    """
    if not numbers:
        return ()
    padded = [*numbers, *[numbers[-1]] * ((1 << (len(numbers) - 1).bit_length()) - len(numbers))]
    places = ", ".join(f"${place}" for place in range(1, len(padded) + 1))
    rest = [f"${len(padded) + place}" for place in range(1, len(values) + 1)]
    return (yield from query_composed(text.format(places, *rest), (*padded, *values)))


def _columns(value: AttributeValue) -> tuple[str | float | int | None, ...]:
    return tuple(
        column_value(value) if kind_of(value) == kind else None
        for kind in ("text", "number", "flag")
    )


def _value(columns: Sequence[str | float | int | None]) -> AttributeValue:
    text, number, flag = columns
    if isinstance(text, str):
        return text
    if number is None:
        return bool(flag)
    return int(number) if float(number).is_integer() else float(number)


def _found(
    row: Row, attributes: Mapping[tuple[int, str], Mapping[str, AttributeValue]]
) -> FoundChunk:
    number, file_id, filename, body, store = row
    return FoundChunk(
        number, file_id, filename, number & MOST_CHUNKS - 1, body, attributes[store, file_id]
    )
