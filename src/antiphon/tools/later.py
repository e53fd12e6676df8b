"""Hosted tools that are loaded by the first request that uses them."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, ShellTool, Tool
from antiphon.sharing.lazy import Lazy
from antiphon.tools.base import ContainerTools, FileSearches, HostedTool, ToolOutcome, Use

Built = TypeVar("Built", bound=HostedTool)


class HostedToolLater(Generic[Built]):
    """A tool that is built for the first request that uses it. It is a `HostedTool`."""

    def __init__(self, tool: Lazy[Built]) -> None:
        self._tool = tool

    def check(self, tool: Tool, path: str = "tools") -> None:
        """See `HostedTool.check`."""
        self._tool.get().check(tool, path)

    async def run(self, use: Use) -> ToolOutcome:
        """See `HostedTool.run`."""
        return await self._tool.get().run(use)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        if self._tool.created is not None:
            await self._tool.created.close()


class FileSearchLater(HostedToolLater[FileSearches]):
    """The `file_search` tool. It is a `FileSearches`."""

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """See `FileSearches.check_stores`."""
        await self._tool.get().check_stores(tool, tenant)


class ContainerToolsLater(HostedToolLater[ContainerTools]):
    """The tools that run code.

    `release` is called at the end if no request used one. It is a `ContainerTools`.
    """

    def __init__(self, tools: Lazy[ContainerTools], release: Callable[[], Awaitable[None]]) -> None:
        super().__init__(tools)
        self._release = release

    async def container_for(
        self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str
    ) -> str:
        """See `ContainerTools.container_for`."""
        return await self._tool.get().container_for(tool, tenant, newest)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        await super().close()
        if self._tool.created is None:
            await self._release()
