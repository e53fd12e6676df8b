"""The `file_search` tool, for all requests of this process (hosted tools, section 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import AntiphonError
from antiphon.protocol.sources import CitedFile, SourceNumbers, Sources
from antiphon.protocol.tools import FileSearchTool, Tool
from antiphon.protocol.untrusted import FILES, clean, framed
from antiphon.search.contract import ChunkHit, SearchRequest, SearchResults, StoreSearch
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.files.options import read_options
from antiphon.tools.files.passages import key_of, passages_of

MOST_QUERIES = 4
"""Queries of one call; more are ignored."""
LONGEST_QUERY = 8_000
_LONGEST_NAME = 255

NOTHING = "The search found nothing."
BY_KEYWORDS = (
    "Only keywords could be matched now, not meanings. Search for words that the files contain."
)
HOW_TO_CITE = (
    "When you use a passage, cite it right behind what you take from it, before the full stop, "
    "by its number in brackets, as in [1]. Write no list of sources."
)


class FileSearch:
    """Searches the vector stores that a request names. It is a `HostedTool`.

    The model chooses only the queries: its arguments cannot select another store.
    """

    def __init__(self, search: StoreSearch) -> None:
        self._search = search

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for invalid fields."""
        read_options(tool, path)

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """Raise `ClientError`: 404 for a store that the tenant does not have, 400 for one that has
        expired.
        """
        await self._search.check(tenant, read_options(tool).store_ids)

    async def run(self, use: Use) -> ToolOutcome:
        """Search for the model's queries."""
        options = read_options(use.tool)
        queries = _queries(use.arguments)
        if not queries:
            return _result(
                "The search was not made: `file_search` needs `queries`.", queries, is_failed=True
            )
        request = SearchRequest(
            use.tenant, options.store_ids, queries, options.most, options.filters, options.ranking
        )
        try:
            found = await self._search.search(request)
        except AntiphonError as error:
            return _result(f"The search failed: {error.message}", queries, is_failed=True)
        if len(found.failures) >= len(options.store_ids):
            return _result(_failures(found), queries, is_failed=True)
        return _report(use, found)

    async def close(self) -> None:
        """Do nothing: the stores belong to the server."""


def _queries(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    several = arguments.get("queries")
    one = arguments.get("query")
    provided = [*(several if isinstance(several, list) else [several]), one]
    queries = (" ".join(each.split())[:LONGEST_QUERY] for each in provided if isinstance(each, str))
    return tuple(dict.fromkeys(filter(None, queries)))[:MOST_QUERIES]


def _report(use: Use, found: SearchResults) -> ToolOutcome:
    """Return the results. Nothing is awaited here, so no other call uses the same numbers."""
    passages, left = passages_of(found.hits, use.window)
    numbers = SourceNumbers(use.sources)
    entries = [_entry(numbers, passage) for passage in passages]
    parts = (
        ["The search found:", framed("\n\n".join(entries), FILES), HOW_TO_CITE]
        if entries
        else [NOTHING]
    )
    by_keywords = BY_KEYWORDS if found.by_keywords else ""
    text = "\n".join(filter(None, [*parts, _left_out(left), by_keywords, _failures(found)]))
    return _result(text, found.queries, found.hits, numbers.new)


def _entry(numbers: SourceNumbers, hit: ChunkHit) -> str:
    number = numbers.number_of(key_of(hit), CitedFile(hit.file_id, hit.filename))
    name = " ".join(clean(hit.filename).split())[:_LONGEST_NAME] or hit.file_id
    attributes = clean(msgspec.json.encode(hit.attributes).decode()) if hit.attributes else ""
    return "\n".join(filter(None, (f"[{number}] {name}", attributes, clean(hit.text))))


def _left_out(count: int) -> str:
    if not count:
        return ""
    return (
        f"{count} more passages were found, but there is no room for them. "
        "Search more precisely to read them."
    )


def _failures(found: SearchResults) -> str:
    failed = [
        f"The vector store {store_id} could not be searched: {why}"
        for store_id, why in found.failures.items()
    ]
    return "\n".join(one if one.endswith(".") else f"{one}." for one in failed)


def _result(
    text: str,
    queries: Sequence[str],
    hits: Sequence[ChunkHit] = (),
    sources: Sources | None = None,
    *,
    is_failed: bool = False,
) -> ToolOutcome:
    results = [
        {
            "attributes": dict(hit.attributes),
            "file_id": hit.file_id,
            "filename": hit.filename,
            "score": round(hit.score, 4),
            "text": hit.text,
            "vector_store_id": hit.store_id,
        }
        for hit in hits
    ]
    return ToolOutcome(
        text, {"queries": list(queries), "results": results}, is_failed, sources or {}
    )
