"""The `web_search` tool, for all requests of this process (specification section 6)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.outbound.fetch import Fetcher
from antiphon.protocol.sources import SourceNumbers, Sources
from antiphon.protocol.tools import Tool
from antiphon.protocol.untrusted import clean, framed
from antiphon.sharing.child import child_turns
from antiphon.sharing.resources import SharedResources
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.web.citing import HOW_TO_CITE, cited
from antiphon.tools.web.engine import SearchEngine
from antiphon.tools.web.hits import PageHit, SearchError, WebQuery
from antiphon.tools.web.options import MOST_RESULTS, Domains, WebSearchOptions, read_options
from antiphon.tools.web.pages import WebPages, fetch_turns
from antiphon.tools.web.reading import Reader
from antiphon.tools.web.showing import find_in_page, open_page

MOST_QUERIES = 4
"""Queries of one call; more are ignored."""
LONGEST_QUERY = 1_000
_LONGEST_TITLE = 200
_LONGEST_URL = 2_000

Found = Sequence[PageHit] | SearchError


async def search(
    use: Use, options: WebSearchOptions, engine: SearchEngine, usual: int
) -> ToolOutcome:
    """Search for the model's queries; returns `usual` results if the request names no number."""
    queries = _queries(use.arguments)
    if not queries:
        return _outcome(
            "The search was not made: `web_search` needs a `query`.", queries, is_failed=True
        )
    count = options.count(usual)
    found = await asyncio.gather(
        *(_found(engine, query, count, options, use.tenant) for query in queries)
    )
    return _result_of(use, options, queries, found, _notes(options, engine))


def _queries(arguments: Mapping[str, Any]) -> list[str]:
    several = arguments.get("queries")
    one = arguments.get("query")
    provided = [one, *(several if isinstance(several, list) else [several])]
    queries = (" ".join(each.split())[:LONGEST_QUERY] for each in provided if isinstance(each, str))
    return list(dict.fromkeys(filter(None, queries)))[:MOST_QUERIES]


async def _found(
    engine: SearchEngine, query: str, count: int, options: WebSearchOptions, tenant: str
) -> Found:
    # A provider may ignore the domains and the number: results are filtered,
    # and surplus ones dropped.
    wanted = MOST_RESULTS if options.domains != Domains() else count
    try:
        hits = await engine.search(
            WebQuery(query, wanted, options.domains, options.location), tenant
        )
    except SearchError as error:
        return error
    return [one for one in hits if _is_plain(one.url) and options.domains.admits(one.url)][:count]


def _is_plain(url: str) -> bool:
    """Whether the model can receive this address, and repeat it character for character."""
    return len(url) <= _LONGEST_URL and len(url.split()) == 1 and clean(url) == url


def _result_of(
    use: Use,
    options: WebSearchOptions,
    queries: Sequence[str],
    found: Sequence[Found],
    notes: Sequence[str],
) -> ToolOutcome:
    numbers = SourceNumbers(use.sources)
    displayed = dict[str, PageHit]()
    names = (
        ["This search"]
        if len(found) == 1
        else [f"Search {n} of {len(found)}" for n in range(1, len(found) + 1)]
    )
    parts = [
        _part(name, one, options, numbers, displayed)
        for name, one in zip(names, found, strict=True)
    ]
    if displayed:
        parts.append(HOW_TO_CITE + " Read a whole page with `open_page`.")
    return _outcome(
        "\n\n".join([*parts, *notes]),
        queries,
        hits=list(displayed.values()),
        sources=numbers.new,
        is_failed=all(isinstance(one, SearchError) for one in found),
    )


def _part(
    name: str,
    found: Found,
    options: WebSearchOptions,
    numbers: SourceNumbers,
    displayed: dict[str, PageHit],
) -> str:
    """Report the result of one query, without the query: otherwise a tool would repeat the model's
    own words.
    """
    if isinstance(found, SearchError):
        return f"{name} failed: {found}."
    cleaned = [_cleaned(one, options.context.snippet) for one in found]
    fresh = {one.url: one for one in cleaned if one.url not in displayed}
    displayed.update(fresh)
    if not fresh:
        return f"{name} found nothing{' more' if cleaned else ''}."
    entries = [_entry(one, numbers) for one in fresh.values()]
    return f"{name} found:\n" + framed("\n\n".join(entries))


def _cleaned(hit: PageHit, longest: int) -> PageHit:
    title = " ".join(clean(hit.title).split())[:_LONGEST_TITLE] or hit.url
    return PageHit(
        hit.url, title, clean(hit.snippet)[:longest], " ".join(clean(hit.age).split())[:40]
    )


def _entry(hit: PageHit, numbers: SourceNumbers) -> str:
    return "\n".join(filter(None, (cited(numbers, hit.url, hit.title), hit.age, hit.snippet)))


def _notes(options: WebSearchOptions, engine: SearchEngine) -> list[str]:
    notes = []
    if str(options.location) and not engine.knows_places:
        notes.append(
            f"The user is near {options.location}. This search does not know places: "
            "name the place in the query where it matters."
        )
    if not options.is_live:
        notes.append("Pages cannot be fetched for this request: use what was found.")
    return notes


def _outcome(
    text: str,
    queries: Sequence[str],
    *,
    hits: Sequence[PageHit] = (),
    sources: Sources | None = None,
    is_failed: bool = False,
) -> ToolOutcome:
    action = {
        "type": "search",
        "query": queries[0] if queries else "",
        "queries": list(queries),
        "sources": [{"type": "url", "url": one.url} for one in hits],
    }
    results = [
        {"type": "text", "url": one.url, "title": one.title, "text": one.snippet} for one in hits
    ]
    return ToolOutcome(text, {"action": action, "results": results}, is_failed, sources or {})


USUAL_RESULTS = 10
"""Default number of results of a search."""


class WebSearch:
    """Searches with one provider, and opens pages. It is a `HostedTool`."""

    def __init__(
        self,
        engine: SearchEngine,
        fetcher: Fetcher,
        *,
        results: int = USUAL_RESULTS,
        shared: SharedResources | None = None,
    ) -> None:
        """Searches return `results` hits by default.

        Readers and fetches are reported to `shared`.
        """
        shared = shared or SharedResources()
        readers = Reader(shared.add("page_readers", child_turns()))
        self._engine = engine
        self._pages = WebPages(fetcher, readers, turns=shared.add("page_fetches", fetch_turns()))
        self._results = results

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for invalid fields, or for features that this server does not
        have.
        """
        read_options(tool, path)

    async def run(self, use: Use) -> ToolOutcome:
        """Execute `web_search`, `open_page` or `find_in_page`."""
        options = read_options(use.tool)
        if use.name == "open_page":
            return await open_page(use, options, self._pages)
        if use.name == "find_in_page":
            return await find_in_page(use, options, self._pages)
        return await search(use, options, self._engine, self._results)

    async def close(self) -> None:
        """Close the connections."""
        await self._engine.close()
