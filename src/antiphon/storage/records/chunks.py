"""Stored chunks of files in vector stores, and the results of searches, as plain values."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from antiphon.search.bm25 import Corpus
from antiphon.search.filters import AttributeValue

POSITION_BITS = 20
MOST_CHUNKS = 1 << POSITION_BITS
"""Maximum number of chunks of a file. A chunk's number combines the file's number and the chunk's
position.
"""


def file_of(number: int) -> int:
    """Return the number of the file that a chunk belongs to."""
    return number >> POSITION_BITS


class ChunkRow(Struct, frozen=True):
    """One chunk of a file. `vector` is normalized, in little-endian 16-bit floats, or None without
    embeddings.
    """

    position: int
    """The position of the chunk in its file, from 0."""
    text: str
    tokens: int
    vector: bytes | None = None


def size_of(row: ChunkRow) -> int:
    """Return the bytes of a chunk's text and vector."""
    return len(row.text.encode("utf-8", "replace")) + len(row.vector or b"")


class IndexedFile(Struct, frozen=True):
    """Identifies one version of one file in one vector store.

    A higher version replaces a lower one.
    """

    tenant: str
    store_id: str
    file_id: str
    version: int
    filename: str


class DroppedChunks(Struct, frozen=True):
    """Chunks of a dropped file that wait for their deletion: the number and the text of each."""

    number: int
    """The number of the file."""
    store: int
    chunks: Sequence[tuple[int, str]]
    is_end: bool
    """Whether these are the last chunks of the file."""


class SearchedStore(Struct, frozen=True):
    """The published contents of a vector store: its number, its chunks, and the number of terms in
    them.

    `revision` is incremented by each change.
    """

    number: int
    chunks: int
    terms: int
    revision: int


class TermCounts(Struct, frozen=True):
    """The number of chunks that contain each term, at one revision of a store."""

    revision: int
    counts: dict[str, int]


class KeywordMatches(Struct, frozen=True):
    """The chunks that match a query best: the number, text and number of terms of each.

    `corpus` has the statistics for scoring. It is valid for the store's `revision`.
    """

    corpus: Corpus
    revision: int = 0
    chunks: Sequence[tuple[int, str, int]] = ()


class Signatures(Struct, frozen=True):
    """Signatures of a store's vectors: the files that have them, and the new signatures in parts.

    A part has the number of its first chunk, the number of consecutive chunks, and their
    concatenated signatures.
    """

    revision: int
    files: frozenset[int]
    parts: Sequence[tuple[int, int, bytes]]


class FoundChunk(Struct, frozen=True):
    """A chunk as it is returned after ranking."""

    number: int
    file_id: str
    filename: str
    position: int
    text: str
    attributes: Mapping[str, AttributeValue] = {}
