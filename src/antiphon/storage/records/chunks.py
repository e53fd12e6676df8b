"""What is stored of the chunks of files in vector stores, and what is found of them, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.search.bm25 import Corpus
from antiphon.search.filters import AttributeValue

POSITION_BITS = 20
MOST_CHUNKS = 1 << POSITION_BITS
"""Chunks of a file: its number and a chunk's position make the chunk's number."""


def file_of(number: int) -> int:
    """Return the number of the file of a chunk."""
    return number >> POSITION_BITS


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk of a file. `vector` is normalised, in 16-bit floats, little-endian; None without embeddings."""

    position: int
    """Number of the chunk in its file, from 0."""
    text: str
    tokens: int
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """Names the rows of one version of one file in one vector store. A higher version replaces a lower one."""

    tenant: str
    store_id: str
    file_id: str
    version: int
    filename: str


@dataclass(frozen=True, slots=True)
class SearchedStore:
    """What a search finds in a vector store: its number, chunks, and terms in them.

    `revision` grows with each change.
    """

    number: int
    chunks: int
    terms: int
    revision: int


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How many chunks of a store had some terms at one of its revisions."""

    revision: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """Chunks that match a query best: the number, text and number of terms of each.

    `corpus` is what scores need, and `revision` the store's, for which it holds.
    """

    corpus: Corpus
    revision: int = 0
    chunks: Sequence[tuple[int, str, int]] = ()


@dataclass(frozen=True, slots=True)
class Signatures:
    """Signatures of the vectors of a store: of which files, and in parts the new ones.

    A part is the number of its first chunk, how many follow each other, and their signatures behind each other.
    """

    revision: int
    files: frozenset[int]
    parts: Sequence[tuple[int, int, bytes]]


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk as it is read after ranking."""

    number: int
    file_id: str
    filename: str
    position: int
    text: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
