"""Requests and results of searches, and the interface of a search engine, which the endpoint and
the tool use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from antiphon.errors import AntiphonError, ClientError
from antiphon.search.filters import AttributeValue, Filter

if TYPE_CHECKING:
    from antiphon.search.fitting import EmbeddedPart

RANKERS = ("auto", "none", "default-2024-11-15")
"""The rankers of the API. `none` ranks by vectors alone if the store has them; the others are the
same here.
"""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How hits are ranked and filtered (specification of hosted tools, section 4).

    `threshold` is the lowest score of a hit, 0 to 1. The weights are those of the two lists that
    are fused; at least one of them is above 0.
    """

    ranker: str = "auto"
    threshold: float = 0.0
    embedding_weight: float = 1.0
    text_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search: each query is searched for in each store, and their hits are ranked together."""

    tenant: str
    store_ids: tuple[str, ...]
    queries: tuple[str, ...]
    most: int
    """Maximum number of hits, at least 1."""
    filters: Filter | None = None
    ranking: Ranking = Ranking()


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """One chunk that was found."""

    file_id: str
    filename: str
    store_id: str
    score: float
    """0 to 1."""
    attributes: Mapping[str, AttributeValue]
    text: str
    position: int
    """Number of the chunk in its file, from 0."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits, best first. `queries` are those that were run; `failures` has the reason for each
    failed store.

    `by_keywords` has the reason for each store with embeddings that was searched by keywords only.
    """

    hits: Sequence[ChunkHit]
    queries: tuple[str, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    by_keywords: Mapping[str, str] = field(default_factory=dict)


class StoreSearch(Protocol):
    """Searches vector stores."""

    async def check(self, tenant: str, store_ids: Sequence[str]) -> None:
        """Raise `ClientError`: 404 for a store that is unknown to the tenant, 400 for an expired
        one.
        """
        ...

    async def search(self, request: SearchRequest) -> SearchResults:
        """Return the results. Raises `ClientError` as `check` does, and `AntiphonError` if every
        store failed.

        A key that does not allow a model that the search needs is a `ClientError` (400) too.
        """
        ...


class QueryEmbeddings(Protocol):
    """Computes embeddings of queries with one model of this server's backends."""

    model: str

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        """Return a normalized vector for each text, in 16-bit floats.

        Raises `AntiphonError` within seconds.

        A text that is too long for the model has the mean of the vectors of its parts.
        """
        ...


class EmbeddingModel(QueryEmbeddings, Protocol):
    """Computes embeddings of queries and of files."""

    async def embed_parts(
        self, texts: Sequence[str], tenant: str
    ) -> "Sequence[Sequence[EmbeddedPart]]":
        """Return the parts of each text with their vectors: one part, unless the text is too long
        for the model.

        Waits minutes for a server that is busy or unreachable. Raises `UnavailableError` if it
        stays so, and `AntiphonError` if the model cannot embed these texts.
        """
        ...


class UnavailableError(AntiphonError):
    """The embedding model is busy or unreachable for longer than a file keeps its slot."""

    def __init__(self, cause: AntiphonError) -> None:
        super().__init__(
            cause.message, status=503, code="server_error", gist=cause.gist, detail=str(cause)
        )
        self.cause = cause


def unknown_store(store_id: str) -> ClientError:
    """Return the error for a vector store that the tenant does not have."""
    return ClientError(
        f"No vector store found with id '{store_id[:100]}'.", status=404, param="vector_store_id"
    )


def expired_store(store_id: str) -> ClientError:
    """Return the error for a vector store that has expired."""
    return ClientError(f"Vector store '{store_id[:100]}' has expired", param="vector_store_id")
