"""Searches vector stores and embeds texts; its dependencies are loaded by the first search."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from antiphon.access.metering import Meter
from antiphon.access.spending import SpentTokens, cost_of, name_of
from antiphon.build.foundation import Foundation
from antiphon.ids import Clock
from antiphon.protocol.response import Usage
from antiphon.sharing.loading import load
from antiphon.storage.records.jobs import Reservation
from antiphon.telemetry.context import about
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.outages import Outages
from antiphon.upstream.permitted import check_permitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon.retrieval.searching import Searching
    from antiphon.search.contract import EmbeddingModel, SearchRequest, SearchResults, StoreSearch


@dataclass(slots=True, eq=False)
class SearchParts:
    """What searches vector stores, and embeds texts for them."""

    search: "StoreSearch"
    embeddings: "Callable[[str], EmbeddingModel]"
    """Returns the embeddings client for a model, which knows the limits of its server."""
    outages: Outages
    """Embedding models that do not answer."""


def search_parts_of(base: Foundation) -> SearchParts:
    """Return what searches the vector stores of a process."""
    outages = Outages()

    @cache
    def embeddings(model: str) -> "EmbeddingModel":
        from antiphon.retrieval.embeddings import Embedder  # noqa: PLC0415 - for embeddings alone

        charge = _charge(base.meter, base.now)
        texts = base.settings.search_embeddings_batch
        return Embedder(model, base.router, base.observers, outages, charge, texts)

    return SearchParts(SearchSetup(base, embeddings), embeddings, outages)


class SearchSetup:
    """See `StoreSearch`. The search modules are loaded in a thread, since that takes 15 ms."""

    def __init__(self, base: Foundation, embeddings: "Callable[[str], EmbeddingModel]") -> None:
        self._base = base
        self._embeddings = embeddings
        self._opened: Searching | None = None

    async def check(self, tenant: str, store_ids: "Sequence[str]") -> None:
        """See `StoreSearch.check`."""
        await (await self._open()).check(tenant, store_ids)

    async def search(self, request: "SearchRequest") -> "SearchResults":
        """See `StoreSearch.search`."""
        return await (await self._open()).search(request)

    async def _open(self) -> "Searching":
        if self._opened is not None:
            return self._opened
        module = await load("antiphon.retrieval.searching")
        if self._opened is None:  # two requests may have waited for the module
            base = self._base
            turns = base.shared.add("searches", module.search_turns())
            self._opened = module.Searching(
                *(base.store, base.store, self._embeddings, turns, base.offload),
                base.measures.searches_by_keywords.add,
                _check_model,
            )
            base.shared.add("signatures", self._opened.nearest.loaded)
        return self._opened


def _check_model(model: str) -> None:
    check_permitted(model, "Search by meaning", "ranking_options")


def _charge(meter: Meter, now: Clock) -> Callable[[str, ModelTarget, int], None]:
    """Return what charges the API key of the request, or the key that attached the file, for
    embedded texts.
    """

    def charge(tenant: str, target: ModelTarget, tokens: int) -> None:
        spent = SpentTokens(
            tokens, 0, 0, name_of(target), cost_of(target, Usage(input_tokens=tokens))
        )
        meter.charge(tenant, Reservation(about().api_key_id, 0, 0), now(), 0, spent)

    return charge
