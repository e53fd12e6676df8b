"""The `web_search` tool, for all requests of this process (specification section 6)."""

from antiphon.outbound.fetch import Fetcher
from antiphon.protocol.tools import Tool
from antiphon.tools.base import Outcome, Use
from antiphon.tools.web.engine import SearchEngine
from antiphon.tools.web.options import read_options
from antiphon.tools.web.pages import Pages
from antiphon.tools.web.search import search
from antiphon.tools.web.showing import find_in_page, open_page

USUAL_RESULTS = 10
"""Results of a search where neither settings nor request say."""


class WebSearch:
    """Searches by one provider, and opens pages. It is a `HostedTool`."""

    def __init__(self, engine: SearchEngine, fetcher: Fetcher, *, results: int = USUAL_RESULTS) -> None:
        """`fetcher` is closed with this; `results` are told of a search by default."""
        self._engine = engine
        self._pages = Pages(fetcher)
        self._results = results

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for fields that make no sense, or that this server has nothing for."""
        read_options(tool, path)

    async def run(self, use: Use) -> Outcome:
        """Carry out `web_search`, `open_page` or `find_in_page`."""
        options = read_options(use.tool)
        if use.name == "open_page":
            return await open_page(use, options, self._pages)
        if use.name == "find_in_page":
            return await find_in_page(use, options, self._pages)
        return await search(use, options, self._engine, self._results)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._engine.close()
        await self._pages.close()
