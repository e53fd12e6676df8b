"""Promises about the chunks of files in vector stores."""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.search.filters import Comparison, Compound, Filter, matches
from antiphon.search.terms import terms_of
from antiphon.search.vectors import signature, unit
from antiphon.storage.chunk_writer import put_chunks, sweep_chunks
from antiphon.storage.operations import chunks as stored_chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile, TermCounts
from antiphon.storage.store import Store
from tests.store.making import T, hold

OTHER = "another tenant"

LANGUAGES = {
    "Über die Größe der Straßen": "grösse",
    "机器学习是人工智能的一个分支": "人工智能",
    "اللُّغَةُ العَرَبِيَّةُ جميلة": "العربية",
    "def getUserName(user_id): return cache[user_id]": "get user name",
    "자연어 처리": "처리",
    "Zażółć gęślą jaźń": "zazolc",
}
"""Texts, and a query that finds each and none of the others."""

FILES: Sequence[dict[str, str | float | bool]] = (
    {},
    {"n": 1, "s": "a", "b": True},
    {"n": 2.5, "s": "B", "b": False},
    {"n": "1", "s": "ä"},
    {"n": True, "s": "\U0001f600"},
)

FILTERS: Sequence[Filter] = (
    *(Comparison(sign, "n", 1) for sign in ("eq", "ne", "gt", "gte", "lt", "lte")),
    *(Comparison(sign, "s", "a") for sign in ("eq", "ne", "gt", "gte", "lt", "lte")),
    *(Comparison(sign, "b", True) for sign in ("eq", "ne", "gte")),
    Comparison("in", "n", (1, 2.5, "1")),
    Comparison("nin", "n", (1, True)),
    Comparison("in", "s", ()),
    Comparison("nin", "s", ()),
    Compound("and", ()),
    Compound("or", ()),
    Compound(
        "or",
        (
            Comparison("eq", "s", "B"),
            Compound("and", (Comparison("eq", "n", 1), Comparison("ne", "b", 0))),
        ),
    ),
)


def _file(version: int = 1, store_id: str = "", tenant: str = T) -> IndexedFile:
    return IndexedFile(tenant, store_id or new_id("vs"), new_id("file"), version, "notes.txt")


def _rows(*texts: str) -> list[ChunkRow]:
    return [
        ChunkRow(position, text, 10, unit([1.0, -1.0, len(text)]))
        for position, text in enumerate(texts)
    ]


async def _found(
    store: Store, file: IndexedFile, query: str, filters: Filter | None = None
) -> list[str]:
    """Return the texts that a query finds."""
    terms = terms_of(query, is_query=True)
    matched = await store.read(
        stored_chunks.match_keywords, file.tenant, file.store_id, terms, filters, 100
    )
    chunks = await store.read(
        stored_chunks.found_chunks, file.tenant, [number for number, _, _ in matched.chunks]
    )
    return [chunk.text for chunk in chunks]


async def _with(store: Store, file: IndexedFile, *texts: str) -> IndexedFile:
    hold(await put_chunks(store, file, _rows(*texts)), "a new version of a file is rejected")
    hold(
        await store.write(stored_chunks.publish, file) is not None,
        "a new version of a file is not published",
    )
    return file


async def _are_found_once_published(store: Store) -> None:
    """A search finds all chunks of a file once they are published, and none before."""
    file = _file()
    hold(await store.write(stored_chunks.publish, _file()) == 0, "a file without chunks has bytes")
    rows = _rows("one apple", "two apples and a pear", "a pear")
    await put_chunks(store, file, rows[:2])
    await put_chunks(store, file, rows[2:])
    hold(not await _found(store, file, "apple"), "a chunk is found before it is published")
    size = sum(len(row.text) + len(row.vector or b"") for row in rows)
    hold(
        await store.write(stored_chunks.publish, file) == size,
        "the bytes of the chunks are counted wrongly",
    )
    hold(await _found(store, file, "apple") == ["one apple"], "a chunk is not found")
    hold(
        set(await _found(store, file, "pear")) == {"two apples and a pear", "a pear"},
        "a chunk is not found",
    )
    known = await store.read(stored_chunks.searched_store, T, file.store_id)
    hold(known is not None and known.chunks == len(rows), f"a search of 3 chunks has {known}")


async def _report_their_positions(store: Store) -> None:
    """A found chunk has its file, position and attributes, and chunks are in the requested
    order.
    """
    file = await _with(store, _file(), "first words", "second words")
    attributes: dict[str, str | float | bool] = {
        "name": "x",
        "count": 3,
        "share": 0.5,
        "is_good": True,
    }
    await store.write(stored_chunks.set_attributes, T, file.store_id, file.file_id, attributes)
    matched = await store.read(stored_chunks.match_keywords, T, file.store_id, ["words"], None, 10)
    numbers = sorted((number for number, _, _ in matched.chunks), reverse=True)
    chunks = await store.read(stored_chunks.found_chunks, T, numbers)
    hold([chunk.position for chunk in chunks] == [1, 0], "chunks are returned in another order")
    for chunk in chunks:
        hold(
            (chunk.file_id, chunk.filename) == (file.file_id, file.filename),
            f"{chunk} is of another file",
        )
        hold(chunk.attributes == attributes, f"attributes are returned as {chunk.attributes}")
    first = await store.read(stored_chunks.match_keywords, T, file.store_id, ["words"], None, 1)
    hold(len(first.chunks) == 1, "more chunks are returned than requested")


async def _of_an_older_version_are_never_found(store: Store) -> None:
    """A newer version of a file replaces the older one when it is published, and blocks writes of
    the older one.
    """
    old = await _with(store, _file(version=1), "old words")
    new = replace(old, version=2)
    hold(
        not await put_chunks(store, old, _rows("again")),
        "a part of a published version is accepted",
    )
    await put_chunks(store, new, _rows("new words"))
    hold(
        await _found(store, old, "words") == ["old words"],
        "a version is lost before the next one is published",
    )
    hold(
        not await put_chunks(store, replace(old, version=0), _rows("late")),
        "a part of an older version is accepted",
    )
    hold(await store.write(stored_chunks.publish, old) is None, "an older version is published")
    await store.write(stored_chunks.publish, new)
    hold(await _found(store, old, "words") == ["new words"], "the old version is still found")
    await sweep_chunks(store)
    hold(
        await _found(store, old, "words") == ["new words"], "a sweep removed chunks that are found"
    )


async def _may_be_put_twice(store: Store) -> None:
    """A part that arrives twice, from another worker, is stored once."""
    file = _file()
    rows = _rows("one", "two", "three")
    await put_chunks(store, file, rows[:2])
    await put_chunks(store, file, rows)
    await store.write(stored_chunks.publish, file)
    hold(
        sorted(await _found(store, file, "one two three")) == ["one", "three", "two"],
        "a chunk is stored twice",
    )
    known = await store.read(stored_chunks.searched_store, T, file.store_id)
    hold(
        known is not None and (known.chunks, known.terms) == (3, 3),
        f"a search of 3 chunks has {known}",
    )


async def _are_deleted_when_dropped(store: Store) -> None:
    """Dropped chunks are no longer found; other files and stores remain; a sweep deletes all of
    them.
    """
    first = await _with(store, _file(), "shared words")
    second = await _with(store, _file(store_id=first.store_id), "shared words too")
    other = await _with(store, _file(), "shared words elsewhere")
    await store.write(stored_chunks.drop, T, first.store_id, first.file_id)
    hold(await _found(store, first, "shared") == ["shared words too"], "a dropped file is found")
    await sweep_chunks(store)
    hold(await sweep_chunks(store) == 0, "a second sweep removed something")
    hold(
        await _found(store, second, "shared") == ["shared words too"],
        "a sweep removed chunks that are found",
    )
    await store.write(stored_chunks.drop, T, first.store_id, None)
    hold(not await _found(store, first, "shared"), "a file of a dropped store is found")
    files = await store.read(stored_chunks.signatures, T, first.store_id, frozenset())
    hold(not files.files and not files.parts, "signatures of a dropped store are found")
    await sweep_chunks(store)
    hold(
        await store.read(stored_chunks.searched_store, T, first.store_id) is None,
        "a sweep left a store without files",
    )
    hold(
        await _found(store, other, "shared") == ["shared words elsewhere"],
        "another store was dropped",
    )
    again = await _with(store, replace(first, version=2), "shared again")
    hold(
        await _found(store, again, "shared") == ["shared again"],
        "a file that was added again is not found",
    )


async def _are_of_one_tenant(store: Store) -> None:
    """A search covers one store of one tenant: neither its chunks nor its counts depend on
    others.
    """
    file = await _with(store, _file(), "secret words", "more")
    await _with(store, _file(), "secret words of another store")
    await _with(store, _file(tenant=OTHER), "secret words of another tenant")
    foreign = replace(file, tenant=OTHER)
    hold(not await _found(store, foreign, "secret"), "another tenant finds a chunk")
    hold(
        await store.read(stored_chunks.searched_store, OTHER, file.store_id) is None,
        "another tenant sees a store",
    )
    hold(
        not await store.read(stored_chunks.found_files, OTHER, file.store_id, None),
        "another tenant sees a file",
    )
    hold(
        not (await store.read(stored_chunks.signatures, OTHER, file.store_id, frozenset())).parts,
        "another tenant sees signatures",
    )
    matched = await store.read(stored_chunks.match_keywords, T, file.store_id, ["secret"], None, 10)
    numbers = [number for number, _, _ in matched.chunks]
    hold(
        not await store.read(stored_chunks.found_chunks, OTHER, numbers),
        "another tenant reads a chunk",
    )
    hold(
        matched.corpus.chunks == 2 and matched.corpus.counts == {"secret": 1},
        f"counts are {matched.corpus}",
    )
    counts = TermCounts(matched.revision, {"secret": 2})
    again = await store.read(
        stored_chunks.match_keywords, T, file.store_id, ["secret"], None, 10, counts
    )
    hold(again.corpus.counts == {"secret": 2}, "a known count was not used")
    stale = TermCounts(matched.revision + 1, {"secret": 2})
    again = await store.read(
        stored_chunks.match_keywords, T, file.store_id, ["secret"], None, 10, stale
    )
    hold(again.corpus.counts == {"secret": 1}, "a count of another revision was used")
    await store.write(stored_chunks.drop, OTHER, file.store_id, None)
    hold(await _found(store, file, "secret") == ["secret words"], "another tenant dropped a chunk")


async def _in_every_language(store: Store) -> None:
    """Words are found regardless of case and accents, in scripts without spaces and inside
    identifiers.
    """
    file = await _with(store, _file(), *LANGUAGES)
    for text, query in LANGUAGES.items():
        found = await _found(store, file, query)
        hold(found[:1] == [text], f"{query!r} found {found[:1]}")


async def _pass_filters(store: Store) -> None:
    """A filter applies before the best chunks are chosen, and means what
    `antiphon.search.filters.matches` says.
    """
    store_id = new_id("vs")
    files = [
        await _with(store, _file(store_id=store_id), f"word {place}") for place in range(len(FILES))
    ]
    for file, attributes in zip(files, FILES, strict=True):
        await store.write(
            stored_chunks.set_attributes, T, store_id, file.file_id, {"n": "replaced"}
        )
        await store.write(stored_chunks.set_attributes, T, store_id, file.file_id, attributes)
    for wanted in FILTERS:
        expected = {
            f"word {place}" for place, attributes in enumerate(FILES) if matches(wanted, attributes)
        }
        found = set(await _found(store, files[0], "word", wanted))
        hold(found == expected, f"{wanted} found {sorted(found)} instead of {sorted(expected)}")
        count = len(await store.read(stored_chunks.found_files, T, store_id, wanted))
        hold(count == len(expected), f"{wanted} found {count} files")


async def _have_vectors(store: Store) -> None:
    """Vectors are returned unchanged, and their signatures packed; those of known files are
    omitted.
    """
    file = _file()
    rows = [
        *_rows("one", "two"),
        ChunkRow(2, "three", 1),
        ChunkRow(3, "four", 1, unit([-1.0, 2.0, 3.0])),
    ]
    await put_chunks(store, file, rows)
    await store.write(stored_chunks.publish, file)
    found = await store.read(stored_chunks.signatures, T, file.store_id, frozenset())
    signed = {
        first + place: body[place * len(body) // count : (place + 1) * len(body) // count]
        for first, count, body in found.parts
        for place in range(count)
    }
    vectors = await store.read(stored_chunks.vectors, T, sorted(signed))
    put = [row.vector for row in rows if row.vector]
    hold([vectors[number] for number in sorted(signed)] == put, "vectors are returned changed")
    hold(
        all(signature(vectors[number]) == bits for number, bits in signed.items()),
        "signatures are of other vectors",
    )
    known = await store.read(stored_chunks.signatures, T, file.store_id, found.files)
    hold(known.files == found.files and not known.parts, "signatures of known files are returned")
    await put_chunks(store, replace(file, version=2), rows)
    await store.write(stored_chunks.publish, replace(file, version=2))
    newer = await store.read(stored_chunks.signatures, T, file.store_id, found.files)
    hold(
        newer.revision > found.revision and not newer.files & found.files,
        "a new version is not detected",
    )
    hold(
        sum(count for _, count, _ in newer.parts) == len(put),
        "signatures of a new version are missing",
    )
