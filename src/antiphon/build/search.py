"""Searches vector stores and embeds texts; its dependencies are loaded by the first search."""

from functools import partial
from typing import TYPE_CHECKING

from antiphon.access.spending import Spent, cost_of, name_of
from antiphon.protocol.response import Usage
from antiphon.runs.engine import Engine
from antiphon.sharing.loading import load
from antiphon.storage.records.jobs import Reservation
from antiphon.telemetry.context import about
from antiphon.upstream.backend_state import Target
from antiphon.upstream.permitted import check_permitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon.retrieval.searching import Searching
    from antiphon.search.contract import Embeddings, SearchRequest, SearchResults, StoreSearch


class Search:
    """See `StoreSearch`. The search modules are loaded in a thread, since that takes 15 ms."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
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
            engine = self._engine
            turns = engine.shared.add("searches", module.search_turns())
            self._opened = module.Searching(
                *(engine.store, engine.store, engine.embeddings, turns, engine.offload, engine.now),
                engine.measures.searches_by_keywords.add,
                _check_model,
            )
            engine.shared.add("signatures", self._opened.nearest.loaded)
        return self._opened


def _check_model(model: str) -> None:
    check_permitted(model, "Search by meaning", "ranking_options")


def open_search(engine: Engine) -> "StoreSearch":
    """Return the search in the vector stores of an engine."""
    return Search(engine)


def open_embeddings(engine: Engine, texts: int, model: str) -> "Embeddings":
    """Return the embedder that calls a model through the backends of an engine, at most `texts` texts at once."""
    from antiphon.retrieval.embeddings import Embedder  # noqa: PLC0415 - for embeddings alone

    return Embedder(model, engine.router, engine.observers, engine.outages, partial(_charge, engine), texts)


def _charge(engine: Engine, tenant: str, target: Target, tokens: int) -> None:
    """Charge the API key of the request, or the key that attached the file, for texts that were embedded."""
    spent = Spent(tokens, 0, 0, name_of(target), cost_of(target, Usage(input_tokens=tokens)))
    engine.meter.charge(tenant, Reservation(about().api_key_id, 0, 0), engine.now(), 0, spent)
