"""The `web_search` tool, for all requests of this process (specification section 6)."""

from antiphon.protocol.tools import Tool
from antiphon.tools.base import Outcome, Use
from antiphon.tools.web.engine import SearchEngine
from antiphon.tools.web.options import read_options
from antiphon.tools.web.search import search

USUAL_RESULTS = 10
"""Results of a search where neither settings nor request say."""


class WebSearch:
    """Searches by one provider. It is a `HostedTool`."""

    def __init__(self, engine: SearchEngine, *, results: int = USUAL_RESULTS) -> None:
        self._engine = engine
        self._results = results

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for fields that make no sense, or that this server has nothing for."""
        read_options(tool, path)

    async def run(self, use: Use) -> Outcome:
        """Carry out `web_search`, `open_page` or `find_in_page`."""
        return await search(use, read_options(use.tool), self._engine, self._results)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._engine.close()
